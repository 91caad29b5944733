/* Shows the reader's local time beside a time of day in UTC. */
function tell() {
  for (const place of document.querySelectorAll('[data-own-time]')) {
    const [hours, minutes] = (document.getElementById(place.dataset.ownTime)?.value ?? '').split(':').map(Number);
    const at = new Date();
    at.setUTCHours(hours, minutes, 0, 0);
    const own = Number.isNaN(at.getTime()) ? '' : at.toLocaleTimeString(undefined, { timeStyle: 'short' });
    const text = own === '' || at.getTimezoneOffset() === 0 ? '' : `, which is currently ${own} in your time zone`;
    if (place.textContent !== text) place.textContent = text;
  }
}

document.addEventListener('input', tell);
document.addEventListener('dormouse:renewed', tell);
tell();
