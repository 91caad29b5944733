/* A new schedule is in the reader's time zone. The browser offers the names of the others. */
const zone = document.querySelector('[name=timeZone]');
if (zone?.dataset.ownZone !== undefined) zone.value = Intl.DateTimeFormat().resolvedOptions().timeZone || zone.value;
document.getElementById('zones')?.append(...Intl.supportedValuesOf('timeZone').map((name) => new Option(name)));
