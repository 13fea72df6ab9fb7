/** Creates, changes, rotates and revokes the keys of the workspace. A secret is shown only once, after its creation. */
import { useSignal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { defined } from '../../../base/index.ts';
import { cleanLine } from '../../../display/index.ts';
import { Problem, ProblemLine, useAction, useLoaded } from '../parts/loading.tsx';
import { Moment } from '../parts/task-parts.tsx';
import { WideTable } from '../parts/lists.tsx';
import type { Server } from '../server/server.ts';
import { enter, signedIn } from '../server/sign-in.ts';
import { KeyList, NewSecret, type ShownKey } from './api.ts';
import { KeyForm, type KeySettings } from './key-form.tsx';
import { PageButton } from '../parts/controls.tsx';

const PAGE = 50;
const STATUS = { active: 'good', expired: 'dim', revoked: 'dim', unusable: 'bad' } as const;

export function KeysPage({ server }: { readonly server: Server }) {
  const offset = useSignal(0);
  /** The key that is being changed, or `new`. */
  const editing = useSignal<ShownKey | 'new' | undefined>(undefined);
  /** The key that the person wants to rotate or revoke. The person must confirm this first. */
  const asked = useSignal<
    { readonly key: ShownKey; readonly what: 'rotate' | 'revoke' } | undefined
  >(undefined);
  const made = useSignal<{ readonly name: string; readonly secret: string } | undefined>(undefined);
  const { busy, problem, run } = useAction();
  const keys = useLoaded(
    (signal) => server.json(KeyList, `/a2a/keys?limit=${PAGE}&offset=${offset.value}`, { signal }),
    [server, offset.value],
  );

  const change = (work: () => Promise<void>) =>
    run(async () => {
      await work();
      editing.value = undefined;
      asked.value = undefined;
      // If the page has rotated its own key, it has signed in again and has a new `Server`. `useLoaded` reads the list
      // for the new `Server`, so the list is not read here.
      if (signedIn.value.kind === 'in' && signedIn.value.server === server) keys.reload();
    });
  const pathOf = ({ id }: ShownKey, more = '') => `/a2a/keys/${encodeURIComponent(id)}${more}`;
  const save = (settings: KeySettings) =>
    change(async () => {
      const current = editing.value;
      if (current !== 'new' && current) {
        const body = changesIn(current, settings);
        if (Object.keys(body).length > 0)
          await server.ask(pathOf(current), { method: 'PATCH', body });
        return;
      }
      const given = Object.entries(settings).filter(([, value]) => value !== null);
      const body = Object.fromEntries(given);
      const { secret } = await server.json(NewSecret, '/a2a/keys', { method: 'POST', body });
      made.value = { name: settings.name, secret };
    });
  const confirm = (key: ShownKey, what: 'rotate' | 'revoke') =>
    change(async () => {
      if (what === 'revoke') {
        await server.ask(pathOf(key), { method: 'DELETE' });
        return;
      }
      const path = pathOf(key, '/rotate');
      const { secret } = await server.json(NewSecret, path, { method: 'POST', body: {} });
      made.value = { name: key.name, secret };
      // The page continues with the new secret of its own key. Otherwise, the page would be signed out before the
      // person can copy the secret.
      if (key.id === server.caller?.keyId) await enter(secret);
    });

  const { total = 0, items = [] } = keys.value ?? {};
  return (
    <>
      <h1>Keys</h1>
      {made.value ? (
        <Secret {...made.value} onClose={() => (made.value = undefined)} />
      ) : editing.value ? (
        <KeyForm
          key={editing.value === 'new' ? 'new' : editing.value.id}
          server={server}
          known={editing.value === 'new' ? undefined : editing.value}
          busy={busy}
          onSave={save}
          onClose={() => (editing.value = undefined)}
        />
      ) : (
        <p>
          <PageButton class="primary" onClick={() => (editing.value = 'new')}>
            New key
          </PageButton>
        </p>
      )}
      {problem === undefined ? null : <ProblemLine error={problem} />}
      {keys.error === undefined ? null : <Problem error={keys.error} onRetry={keys.reload} />}
      <WideTable
        label="Keys"
        columns={['Name', 'Status', 'Scopes', 'Limits', 'Last used', 'Actions']}
      >
        {items.map((key) => (
          <tr key={key.id}>
            <th scope="row">
              {cleanLine(key.name)}
              <div class="dim mono small">{cleanLine(key.prefix)}…</div>
            </th>
            <td class={`t-${STATUS[key.status]}`}>{key.status}</td>
            <td class="small">{key.scopes.join(', ')}</td>
            <td class="small">{limitsOf(key)}</td>
            <td>{key.lastUsedAt === undefined ? 'never' : <Moment at={key.lastUsedAt} />}</td>
            <td>
              {key.status === 'revoked' ? null : asked.value?.key.id === key.id ? (
                <Confirm
                  name={key.name}
                  what={asked.value.what}
                  busy={busy}
                  onYes={() => asked.value && confirm(key, asked.value.what)}
                  onNo={() => (asked.value = undefined)}
                />
              ) : (
                <div class="actions">
                  <PageButton onClick={() => (editing.value = key)}>Edit</PageButton>
                  <PageButton onClick={() => (asked.value = { key, what: 'rotate' })}>
                    Rotate
                  </PageButton>
                  <PageButton onClick={() => (asked.value = { key, what: 'revoke' })}>
                    Revoke
                  </PageButton>
                </div>
              )}
            </td>
          </tr>
        ))}
      </WideTable>
      {total > PAGE ? (
        <p class="actions">
          <PageButton
            disabled={offset.value === 0}
            onClick={() => (offset.value = Math.max(0, offset.value - PAGE))}
          >
            Newer
          </PageButton>
          <PageButton
            disabled={offset.value + PAGE >= total}
            onClick={() => (offset.value += PAGE)}
          >
            Older
          </PageButton>
          <span class="dim">{total.toLocaleString()} keys</span>
        </p>
      ) : null}
    </>
  );
}

/**
 * Returns the settings that differ from those of the key. Only these settings are sent, because the caller may not be
 * allowed to set the others.
 */
function changesIn(key: ShownKey, settings: KeySettings): Partial<KeySettings> {
  const before: KeySettings = {
    name: key.name,
    scopes: key.scopes,
    expiresAt: key.expiresAt ?? null,
    rateLimit: key.rateLimit ? defined(key.rateLimit) : null,
    budget: key.budget ? defined(key.budget) : null,
  };
  const names = ['name', 'scopes', 'expiresAt', 'rateLimit', 'budget'] as const;
  const changed = names.filter((name) => sorted(before[name]) !== sorted(settings[name]));
  return Object.fromEntries(changed.map((name) => [name, settings[name]]));
}

/** Returns the same text for equal settings, whatever the order of their fields. */
function sorted(value: unknown): string {
  const entries = Array.isArray(value) ? value : Object.entries(value ?? {}).map(String);
  return typeof value === 'object' && value !== null
    ? JSON.stringify(entries.map(String).toSorted())
    : JSON.stringify(value);
}

function limitsOf({ expiresAt, rateLimit, budget }: ShownKey): string {
  return [
    expiresAt === undefined ? '' : `until ${expiresAt.slice(0, 10)}`,
    rateLimit ? `${rateLimit.requestsPerMinute} per minute${burstOf(rateLimit)}` : '',
    budget?.tokens === undefined
      ? ''
      : `${budget.tokens.toLocaleString()} tokens (${budget.period})`,
    budget?.amount === undefined ? '' : `${budget.amount} ${budget.currency} (${budget.period})`,
  ]
    .filter((text) => text !== '')
    .join(', ');
}

function burstOf({ burst }: NonNullable<ShownKey['rateLimit']>): string {
  return burst === undefined ? '' : `, ${burst} in a burst`;
}

interface SecretProps {
  readonly name: string;
  readonly secret: string;
  readonly onClose: () => void;
}

function Secret({ name, secret, onClose }: SecretProps) {
  const section = useRef<HTMLElement>(null);
  // The secret is above the list, and the person may have scrolled far down. So the focus moves to the secret.
  useLayoutEffect(() => section.current?.focus(), []);
  return (
    <section class="panel-form secret" role="alert" tabIndex={-1} ref={section}>
      <h2>The secret of {cleanLine(name)}</h2>
      <p>Copy it now. It is not stored, and it is not shown again.</p>
      <p>
        <code class="secret-text">{secret}</code>
      </p>
      <PageButton class="primary" onClick={onClose}>
        I have copied it
      </PageButton>
    </section>
  );
}

interface ConfirmProps {
  /** The name of the key. The button shows the name, because on a phone the column with the names is out of view. */
  readonly name: string;
  readonly what: 'rotate' | 'revoke';
  readonly busy: boolean;
  readonly onYes: () => void;
  readonly onNo: () => void;
}

function Confirm({ name, what, busy, onYes, onNo }: ConfirmProps) {
  const keep = useRef<HTMLButtonElement>(null);
  // Moves the focus, because the button that had the focus is gone.
  useLayoutEffect(() => keep.current?.focus(), []);
  return (
    <div class="actions" role="group" aria-label="Confirm">
      <span class="small">
        {what === 'revoke' ? 'It stops working for ever.' : 'The old secret stops working.'}
      </span>
      <PageButton class="option reject" disabled={busy} onClick={onYes}>
        {what === 'revoke' ? 'Revoke the key' : 'Rotate the key'} {cleanLine(name)}
      </PageButton>
      <button type="button" ref={keep} onClick={onNo}>
        Keep
      </button>
    </div>
  );
}
