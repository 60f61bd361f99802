'use strict';
(() => {
const byId = id => document.getElementById(id);
const search = byId('search'), names = byId('names'), count = byId('count');
const operators = [...document.querySelectorAll('details')].map(e =>
  ({ e, name: e.id.toLowerCase(), text: e.textContent.toLowerCase() }));
const sections = [...document.querySelectorAll('section')];
const filter = () => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let left = 0;
  for (const { e, name, text } of operators) {
    e.hidden = !words.every(w => (names.checked ? name : text).includes(w));
    left += !e.hidden;
  }
  for (const s of sections) s.hidden = !s.querySelector('details:not([hidden])');
  count.textContent = `${left} of ${operators.length}`;
};
const show = () => {
  let id = location.hash.slice(1);
  try { id = decodeURIComponent(id); } catch {}
  const e = byId(id);
  if (!e || e.tagName !== 'DETAILS') return;
  e.open = true;
  e.hidden = e.parentElement.hidden = false;
  e.scrollIntoView();
};
search.addEventListener('input', filter);
names.addEventListener('change', filter);
addEventListener('hashchange', show);
addEventListener('keydown', e => {
  if (e.key !== '/' || e.target === search) return;
  e.preventDefault();
  search.focus();
});
filter();
show();
})();
