/** The frame of every page. */
import { html } from 'hono/html';
import type { Child, FC } from 'hono/jsx';
import type { Caller } from '../../caller.ts';
import { assetPath, STYLES } from './assets.ts';
import type { Place } from './session.ts';
import { bare, Words } from './text.tsx';

/** What every page knows: where the inbox is, and who looks at it. */
export interface Viewer {
  readonly place: Place;
  readonly caller: Caller;
  readonly formToken: string;
}

export interface PageProps {
  readonly title: string;
  readonly place: Place;
  readonly viewer?: Viewer | undefined;
  /** Paths below the inbox: the page, to be shown anew, and what tells of changes; and what to say then to who does not see it. */
  readonly live?: { readonly page: string; readonly changes: string; readonly state: string } | undefined;
  readonly children?: Child;
}

export function renderPage(props: PageProps): ReturnType<typeof html> {
  return html`<!doctype html>
${<Page {...props} />}`;
}

const Page: FC<PageProps> = ({ title, place, viewer, live, children }) => (
  <html lang="en" data-now={new Date().toISOString()}>
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      <title>{bare(title)} · Inbox</title>
      <link rel="icon" href={assetPath(place, 'icon.svg')} type="image/svg+xml" />
      {STYLES.map((name) => (
        <link rel="stylesheet" href={assetPath(place, name)} />
      ))}
      <script src={assetPath(place, 'inbox.js')} type="module" />
    </head>
    <body>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <Top place={place} viewer={viewer} />
      <main
        id="main"
        tabindex={-1}
        data-page={live && `${place.base}${live.page}`}
        data-changes={live && `${place.base}${live.changes}`}
        data-state={live?.state}
      >
        {children}
      </main>
      <p class="hidden" role="status" aria-live="polite" id="announcement" />
    </body>
  </html>
);

const Top: FC<Pick<PageProps, 'place' | 'viewer'>> = ({ place, viewer }) => (
  <header class="top">
    <a class="brand" href={place.base}>
      <img src={assetPath(place, 'icon.svg')} alt="" width="22" height="22" />
      Inbox
    </a>
    {viewer && (
      <form method="post" action={`${place.base}/logout`}>
        <FormToken viewer={viewer} />
        <span class="who">
          <Words text={viewer.caller.subject} />
          <span class="muted"> · {viewer.caller.scope}</span>
        </span>
        <button type="submit" class="quiet">
          Log out
        </button>
      </form>
    )}
  </header>
);

export const FormToken: FC<{ viewer: Pick<Viewer, 'formToken'> }> = ({ viewer }) => (
  <input type="hidden" name="formToken" value={viewer.formToken} />
);

interface NoticeProps {
  readonly kind: 'good' | 'bad' | 'note';
  readonly title: string;
  /** It is all that the page is about. */
  readonly alone?: boolean;
  readonly children?: Child;
}

/** What the reader has to know first. */
export const Notice: FC<NoticeProps> = ({ kind, title, alone = false, children }) => (
  <section class={`notice ${kind}`} role={kind === 'bad' ? 'alert' : 'status'}>
    {alone ? <h1>{title}</h1> : <p class="notice-title">{title}</p>}
    {children}
  </section>
);
