/**
 * The headers that the person adds to all requests. They are kept in the memory of the page only. The value of a secret
 * header is not shown again.
 */
import { useSignal } from '@preact/signals';
import { reasonOf } from '../../../base/index.ts';
import { isSecretName } from './exchanges.ts';
import type { Inspection } from './inspection.ts';

export function HeaderFields({ inspection }: { readonly inspection: Inspection }) {
  const { access, headers } = inspection;
  const given = [
    ...access.addedHeaders.map((name) => `${name} (from the command line)`),
    ...Object.keys(access.keyHeaders).map((name) => `${name} (your key)`),
    ...headers.value.map(({ name }) => name),
  ];
  return (
    <details class="own-headers">
      <summary>
        Headers <span class="dim">{given.length === 0 ? 'none' : given.join(', ')}</span>
      </summary>
      {headers.value.length === 0 ? null : (
        <ul class="plain-list">
          {headers.value.map(({ name, value, secret }) => (
            <li key={name}>
              <span class="mono">
                {name}: {secret ? <span class="dim">hidden</span> : value}
              </span>
              <button type="button" class="quiet" onClick={() => inspection.removeHeader(name)}>
                Remove <span class="hidden">{name}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
      <TokenForm inspection={inspection} />
      <HeaderForm inspection={inspection} />
      <p class="dim small">
        The headers stay in the memory of this page. They are sent to the agent only, not to other
        servers that its card names.
      </p>
    </details>
  );
}

function TokenForm({ inspection }: { readonly inspection: Inspection }) {
  const token = useSignal('');
  const problem = useSignal('');
  return (
    <form
      class="filters"
      onSubmit={(event) => {
        event.preventDefault();
        if (token.value.trim() === '') return;
        try {
          inspection.setHeader('authorization', `Bearer ${token.value.trim()}`, true);
          token.value = '';
          problem.value = '';
          void inspection.inspect();
        } catch (error) {
          problem.value = reasonOf(error);
        }
      }}
    >
      <div class="grows">
        <label for="agent-token">Bearer token</label>
        <input
          id="agent-token"
          type="password"
          autocomplete="off"
          spellcheck={false}
          value={token}
          onInput={({ currentTarget }) => (token.value = currentTarget.value)}
        />
      </div>
      <button type="submit">Use the token</button>
      <Alert text={problem.value} />
    </form>
  );
}

function HeaderForm({ inspection }: { readonly inspection: Inspection }) {
  const name = useSignal('');
  const value = useSignal('');
  const secret = useSignal(true);
  const problem = useSignal('');
  const always = isSecretName(name.value);
  const field = {
    id: 'header-value',
    autocomplete: 'off',
    spellcheck: false,
    value: value.value,
    onInput: ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) =>
      (value.value = currentTarget.value),
  };
  return (
    <form
      class="filters"
      onSubmit={(event) => {
        event.preventDefault();
        try {
          inspection.setHeader(name.value, value.value, secret.value);
          name.value = '';
          value.value = '';
          problem.value = '';
        } catch (error) {
          problem.value = reasonOf(error);
        }
      }}
    >
      <div>
        <label for="header-name">Name of another header</label>
        <input
          id="header-name"
          autocomplete="off"
          spellcheck={false}
          value={name}
          onInput={({ currentTarget }) => (name.value = currentTarget.value)}
        />
      </div>
      <div class="grows">
        <label for="header-value">Value</label>
        {secret.value || always ? (
          <input type="password" {...field} />
        ) : (
          <input type="text" {...field} />
        )}
      </div>
      <label class="check">
        <input
          type="checkbox"
          checked={secret.value || always}
          disabled={always}
          onChange={({ currentTarget }) => (secret.value = currentTarget.checked)}
        />
        secret
      </label>
      <button type="submit" disabled={name.value.trim() === ''}>
        Add the header
      </button>
      <Alert text={problem.value} />
    </form>
  );
}

function Alert({ text }: { readonly text: string }) {
  if (text === '') return null;
  return (
    <p class="t-bad" role="alert">
      {text}
    </p>
  );
}
