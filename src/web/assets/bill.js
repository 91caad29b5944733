/*
 * Shows the bill's times in the reader's time zone as well. Bills count days in UTC, so the text in UTC stays.
 */
document.addEventListener('dormouse:renewed', localTitles);
localTitles();

function localTitles() {
  for (const title of document.querySelectorAll('title[data-from]')) {
    const { from, to, text = title.textContent } = title.dataset;
    title.dataset.text = text;
    title.textContent = `${text} (your time: ${localTime(from)} to ${localTime(to)})`;
  }
}

function localTime(at) {
  return new Date(Number(at)).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });
}
