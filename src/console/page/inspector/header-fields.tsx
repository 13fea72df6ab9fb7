/**
 * The headers that the person adds to the requests to the agent. They are kept in the memory of the page only. The
 * value of a secret header is not shown again.
 */
import { useSignal } from '@preact/signals';
import { reasonOf } from '../../../base/index.ts';
import { isSecretName } from './exchanges.ts';
import type { Inspection } from './inspection.ts';
import { Alert, PageButton, Form, TextField, VERBATIM } from '../parts/controls.tsx';

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
              <PageButton class="quiet" onClick={() => inspection.removeHeader(name)}>
                Remove <span class="hidden">{name}</span>
              </PageButton>
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
  const save = () => {
    if (token.value.trim() === '') return;
    try {
      inspection.setHeader('authorization', `Bearer ${token.value.trim()}`, true);
      token.value = '';
      problem.value = '';
      void inspection.inspect();
    } catch (error) {
      problem.value = reasonOf(error);
    }
  };
  return (
    <Form class="filters" onSubmit={save}>
      <TextField box="grows" type="password" label="Bearer token" text={token} {...VERBATIM} />
      <button type="submit">Use the token</button>
      <Alert text={problem.value} />
    </Form>
  );
}

function HeaderForm({ inspection }: { readonly inspection: Inspection }) {
  const name = useSignal('');
  const value = useSignal('');
  const secret = useSignal(true);
  const problem = useSignal('');
  const always = isSecretName(name.value);
  const isHidden = secret.value || always;
  const save = () => {
    try {
      inspection.setHeader(name.value, value.value, secret.value);
      name.value = '';
      value.value = '';
      problem.value = '';
    } catch (error) {
      problem.value = reasonOf(error);
    }
  };
  return (
    <Form class="filters" onSubmit={save}>
      <TextField type="text" label="Name of another header" text={name} {...VERBATIM} />
      <TextField
        box="grows"
        type={isHidden ? 'password' : 'text'}
        label="Value"
        text={value}
        {...VERBATIM}
      />
      <label class="check">
        <input
          type="checkbox"
          checked={isHidden}
          disabled={always}
          onChange={({ currentTarget }) => (secret.value = currentTarget.checked)}
        />
        secret
      </label>
      <button type="submit" disabled={name.value.trim() === ''}>
        Add the header
      </button>
      <Alert text={problem.value} />
    </Form>
  );
}
