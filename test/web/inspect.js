/** Runs in the browser: what a checker of accessibility would look for, on the page as it is. */
(() => {
  const visible = (each) => each.getClientRects().length > 0;
  const name = (each) => (each.getAttribute('aria-label') ?? each.textContent ?? '').trim();
  const fields = [...document.querySelectorAll('input:not([type=hidden]):not([hidden]), textarea')];
  const targets = [
    ...document.querySelectorAll(
      'button, .button, summary, .tick, header a, .rail:popover-open a, input:not([type=hidden], [type=checkbox], [type=radio], [hidden])',
    ),
  ];
  const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id);
  return {
    language: document.documentElement.lang,
    title: document.title.length > 10,
    landmarks: ['header', 'main', 'footer', 'nav[aria-label]'].filter((each) => !document.querySelector(each)),
    headings: document.querySelectorAll('h1').length,
    skippedLevels: [...document.querySelectorAll('h1, h2, h3')]
      .map(({ tagName }) => Number(tagName[1]))
      .filter((level, nth, all) => level > (all[nth - 1] ?? 0) + 1),
    unlabelled: fields
      .filter((each) => !each.labels?.length || ![...each.labels].some(name))
      .map(({ outerHTML }) => outerHTML),
    nameless: [...document.querySelectorAll('a, button, summary')]
      .filter((each) => !name(each))
      .map(({ outerHTML }) => outerHTML),
    withoutAlt: document.querySelectorAll('img:not([alt])').length,
    groupsWithoutLegend: document.querySelectorAll('fieldset:not(:has(> legend))').length,
    sameIds: ids.filter((id, nth) => ids.indexOf(id) !== nth),
    danglingIds: [...document.querySelectorAll('[aria-describedby]')]
      .flatMap((each) => (each.getAttribute('aria-describedby') ?? '').split(' '))
      .filter((id) => !ids.includes(id)),
    scripts: document.querySelectorAll('script, style, [style], [onclick]').length,
    formsWithoutToken: document.querySelectorAll('form[method=post]:not(:has(> input[name=csrf]))').length,
    small: targets
      .filter(visible)
      .filter((each) => each.getBoundingClientRect().height < 43.5)
      .map(({ outerHTML }) => outerHTML),
    tooWide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  };
})();
