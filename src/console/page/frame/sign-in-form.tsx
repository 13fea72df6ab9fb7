/** The form that asks for a key or a token, and the text that `parley inspect` shows instead of the form. */
import { useSignal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { SERVER_KIND } from '../server/access.ts';
import { enter } from '../server/sign-in.ts';
import { Alert, bound, Form } from '../parts/controls.tsx';
import { ProblemLine, useAction } from '../parts/loading.tsx';

const WORDS =
  SERVER_KIND === 'gateway'
    ? {
        title: 'Parley gateway',
        label: 'Key',
        about: 'Sign in with a key of this gateway. The page shows what the key may use.',
        kept: 'The key stays in the memory of this page: when you reload or close the page, it is forgotten.',
      }
    : {
        title: 'Parley',
        label: 'Token',
        about: 'This agent needs a token.',
        kept: 'The token stays in this tab: when you close the tab, it is forgotten.',
      };

export function SignInForm({ why }: { readonly why: string }) {
  const field = useRef<HTMLInputElement>(null);
  const key = useSignal('');
  const { busy, problem, run } = useAction();
  useLayoutEffect(() => field.current?.focus(), []);
  const send = () => {
    const given = key.value.trim();
    if (given !== '') run(() => enter(given).finally(() => field.current?.select()));
  };
  return (
    <main class="card">
      <h1>{WORDS.title}</h1>
      <p>{WORDS.about}</p>
      <Alert text={why} />
      {problem === undefined ? null : <ProblemLine error={problem} />}
      <Form onSubmit={send}>
        <label for="key">{WORDS.label}</label>
        <input
          id="key"
          ref={field}
          type="password"
          autocomplete="off"
          spellcheck={false}
          aria-describedby="key-kept"
          {...bound(key)}
        />
        <button type="submit" class="option allow" disabled={busy}>
          Sign in
        </button>
      </Form>
      <p id="key-kept" class="dim small">
        {WORDS.kept}
      </p>
    </main>
  );
}

/** Shown on the page of `parley inspect` instead of the form, because only a link opens that page. */
export function LinkNeeded({ why }: { readonly why: string }) {
  return (
    <main class="card">
      <h1>Parley inspector</h1>
      <Alert text={why} />
      <p>
        Start <code>parley inspect URL</code> again, and open the link that it prints. A link works
        once, for two minutes.
      </p>
    </main>
  );
}
