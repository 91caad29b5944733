/*
 * The bill's timeline in the reader's own time. A day of UTC has other ends where its reader is: what is said of it stays, and is said
 * in their time besides.
 */
document.addEventListener('dormouse:renewed', localTitles);
localTitles();

function localTitles() {
  for (const title of document.querySelectorAll('title[data-from]')) {
    const { from, to, text = title.textContent } = title.dataset;
    title.dataset.text = text;
    title.textContent = `${text} (here ${localTime(from)} to ${localTime(to)})`;
  }
}

function localTime(at) {
  return new Date(Number(at)).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });
}
