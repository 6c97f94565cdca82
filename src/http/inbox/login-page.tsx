/** Logging in with a key, and pages for when something is not to be had. */
import type { FC } from 'hono/jsx';
import { Notice } from './page.tsx';
import type { Place } from './session.ts';
import { Prose } from './text.tsx';

export interface LoginProps {
  readonly place: Place;
  readonly formToken: string;
  /** The continuation to show then. */
  readonly next?: string | undefined;
  readonly fault?: string | undefined;
}

export const Login: FC<LoginProps> = ({ place, formToken, next, fault }) => (
  <section class="card narrow">
    <h1>Log in</h1>
    {fault && <Notice kind="bad" title={fault} />}
    <form method="post" action={`${place.base}/login`}>
      <input type="hidden" name="formToken" value={formToken} />
      {next && <input type="hidden" name="next" value={next} />}
      <label for="key">Your key</label>
      <input
        id="key"
        name="key"
        type="password"
        autocomplete="current-password"
        required
        aria-describedby="key-hint"
        spellcheck={false}
      />
      <p class="hint" id="key-hint">
        An operator makes one with <code>continuations keys create</code>. It says who you are in every receipt.
      </p>
      <button type="submit" class="primary">
        Log in
      </button>
    </form>
  </section>
);

/** What somebody typed that was not sent, so that it can be copied. */
export const Unsent: FC<{ texts: readonly string[] }> = ({ texts }) =>
  texts.length === 0 ? null : (
    <section class="card">
      <h2>What you had typed</h2>
      <p class="hint">It was not sent.</p>
      {texts.map((text) => (
        <Prose text={text} />
      ))}
    </section>
  );
