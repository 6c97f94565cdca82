// Keeps an open page true: it says how long there is left, and shows what others did. Without it the pages work the same, by reloading.

const main = /** @type {HTMLElement} */ (document.getElementById('main'));
const announcement = /** @type {HTMLElement} */ (document.getElementById('announcement'));
const { page, changes } = main.dataset;

// The clock of the server: deadlines are its.
const ahead = Date.parse(document.documentElement.dataset.now ?? '') - Date.now();
const now = () => Date.now() + (Number.isFinite(ahead) ? ahead : 0);

/** @param {number} ms */
function inWords(ms) {
  const seconds = Math.floor(Math.abs(ms) / 1000);
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ];
  const first = parts.findIndex(([count]) => count !== 0);
  const told = parts.slice(first < 0 ? 3 : first).slice(0, 2);
  const text = told.map(([count, unit]) => `${count} ${unit}`).join(' ');
  return ms < 0 ? `${text} ago` : `in ${text}`;
}

/** Instants that have passed while the page was open. */
const passed = new Set();

function tick() {
  for (const element of document.querySelectorAll('[data-relative]')) {
    const at = /** @type {HTMLElement} */ (element).dataset.relative ?? '';
    const left = Date.parse(at) - now();
    const text = `(${inWords(left)})`;
    if (element.textContent !== text) element.textContent = text;
    if (left < 0 && !passed.has(at)) {
      passed.add(at);
      if (left > -2_000) void refresh();
    }
  }
}
tick();
setInterval(tick, 1000);

let wanted = false;
let busy = false;
/** Shows the page as it is now; asked for meanwhile, once more. */
async function refresh() {
  wanted = true;
  if (busy || page === undefined) return;
  busy = true;
  while (wanted) {
    wanted = false;
    try {
      const response = await fetch(page, { headers: { accept: 'text/html' } });
      if (response.redirected) loggedOut();
      else if (response.ok) show(new DOMParser().parseFromString(await response.text(), 'text/html'));
    } catch {
      // The server is away: the stream comes back, and then the page is read again.
    }
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  busy = false;
}

/** Only the login can be had now; what is typed is not lost for it: sent, it comes back. */
function loggedOut() {
  ended = true;
  leave();
  if (typedIn(main).length === 0) location.reload();
}

/** @param {Document} fresh */
function show(fresh) {
  let changed = false;
  for (const old of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('[data-live]'))) {
    const next = /** @type {HTMLElement | null} */ (fresh.querySelector(`[data-live="${old.dataset.live}"]`));
    if (!next || isSame(old, next)) continue;
    const typed = old.dataset.version === undefined ? [] : typedIn(old);
    const focused = document.activeElement?.id;
    old.replaceWith(next);
    if (typed.length > 0) next.append(unsent(typed));
    if (focused && !document.activeElement?.id) document.getElementById(focused)?.focus();
    changed = true;
  }
  if (!changed) return;
  tick();
  announcement.textContent = fresh.getElementById('main')?.dataset.state ?? '';
}

/**
 * A part with a version keeps what is typed in it until its version changes; others are compared as a reader sees them.
 * @param {HTMLElement} old
 * @param {HTMLElement} next
 */
function isSame(old, next) {
  if (old.dataset.version !== undefined) return old.dataset.version === next.dataset.version;
  return seen(old) === seen(next);
}

/** @param {HTMLElement} part */
function seen(part) {
  const copy = /** @type {HTMLElement} */ (part.cloneNode(true));
  for (const relative of copy.querySelectorAll('[data-relative]')) relative.textContent = '';
  for (const details of copy.querySelectorAll('details')) details.removeAttribute('open');
  return copy.innerHTML;
}

/** @param {HTMLElement} part */
function typedIn(part) {
  return [...part.querySelectorAll('textarea')].filter((one) => one.value !== one.defaultValue).map((one) => one.value);
}

/** What was typed into a form that is gone, to be copied. @param {string[]} texts */
function unsent(texts) {
  const section = document.createElement('section');
  const heading = document.createElement('h3');
  heading.textContent = 'What you had typed (it was not sent)';
  section.append(heading);
  for (const text of texts) {
    const prose = document.createElement('div');
    prose.className = 'prose';
    prose.dir = 'auto';
    prose.textContent = text;
    section.append(prose);
  }
  return section;
}

/** @type {EventSource | undefined} */
let stream;
/** Nothing more happens to what the page shows. */
let ended = false;

function follow() {
  if (changes === undefined || stream || ended) return;
  stream = new EventSource(changes);
  // What happened since the page was made, or while the stream was away.
  stream.addEventListener('open', () => void refresh());
  stream.addEventListener('changed', () => void refresh());
  stream.addEventListener('end', () => {
    ended = true;
    leave();
    void refresh();
  });
}

function leave() {
  stream?.close();
  stream = undefined;
}

// A browser has few connections: pages that nobody sees give theirs back.
function heed() {
  if (document.visibilityState === 'visible') follow();
  else leave();
}
document.addEventListener('visibilitychange', heed);
addEventListener('pagehide', leave);
addEventListener('pageshow', heed);
heed();
// Changes can go unheard, for one while the server has lost its database.
setInterval(() => stream && void refresh(), 60_000);

// One click sends once; the button is free again when the page is shown anew.
document.addEventListener('submit', (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target);
  if (form.dataset.sent) event.preventDefault();
  form.dataset.sent = 'yes';
});
addEventListener('pageshow', () => {
  for (const form of document.forms) delete form.dataset.sent;
});
