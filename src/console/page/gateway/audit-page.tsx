/** Shows the audit log: each change of a key, a model card or an agent. The server applies the filters. */
import { useSignal } from '@preact/signals';
import type * as z from 'zod';
import { cleanLine } from '../../../display/index.ts';
import { ChoiceField, FilterButtons, TextFilter, WideTable } from '../parts/lists.tsx';
import { Problem, ProblemLine, useAction, useLoaded } from '../parts/loading.tsx';
import { Moment } from '../parts/task-parts.tsx';
import { goTo, hrefOf, route } from '../server/route.ts';
import type { Server } from '../server/server.ts';
import { AuditAnswer } from './api.ts';
import { PageButton, Form } from '../parts/controls.tsx';

const PAGE = 100;
/**
 * The choices of the action filter: a prefix such as `key` for all actions on keys, or an action such as `key.create`.
 */
const ACTIONS = [
  ['', 'all'],
  ['key', 'keys'],
  ['card', 'model cards'],
  ['agent', 'agents'],
  ...'key.create key.edit key.rotate key.revoke'.split(' '),
  ...'card.create card.update card.restore card.delete'.split(' '),
  ...'agent.create agent.update agent.delete'.split(' '),
] as const;
const TEXT_FILTERS = [
  ['actor', 'Who'],
  ['subject', 'What (id)'],
  ['from', 'From (UTC)', 'date'],
  ['to', 'To (UTC)', 'date'],
] as const;
const FILTERS = ['action', ...TEXT_FILTERS.map(([name]) => name)] as const;

type Entry = z.infer<typeof AuditAnswer>['items'][number];

export function AuditLogPage({ server }: { readonly server: Server }) {
  const { query } = route.value;
  const filter = Object.fromEntries(
    FILTERS.flatMap((name) => (query[name] === undefined ? [] : [[name, query[name]]])),
  );
  const chosen = JSON.stringify(filter);
  const set = (changed: Record<string, string>) =>
    goTo(hrefOf(['audit'], { ...filter, ...changed }));
  const later = useSignal<readonly Entry[]>([]);
  const next = useSignal<number | undefined>(undefined);
  const { busy, problem, run } = useAction();
  const first = useLoaded(
    async (signal) => {
      const page = await read(server, filter, undefined, signal);
      later.value = [];
      next.value = page.next;
      return page;
    },
    [server, chosen],
  );
  const more = () =>
    run(async () => {
      const before = later.value;
      const page = await read(server, filter, next.value);
      // If the list was loaded again in the meantime, perhaps with another filter, these entries do not belong to it.
      if (later.value !== before) return;
      later.value = [...before, ...page.items];
      next.value = page.next;
    });
  const all = [...(first.value?.items ?? []), ...later.value];
  return (
    <>
      <h1>Audit log</h1>
      <Form class="filters">
        <ChoiceField
          label="Action"
          value={query['action'] ?? ''}
          options={ACTIONS}
          onChange={(action) => set({ action })}
        />
        {TEXT_FILTERS.map(([name, label, type]) => (
          <TextFilter
            key={name}
            label={label}
            type={type}
            value={query[name] ?? ''}
            onChange={(value) => set({ [name]: value })}
          />
        ))}
        <FilterButtons
          isFiltered={chosen !== '{}'}
          onClear={() => goTo(hrefOf(['audit']))}
          onReload={first.reload}
        />
      </Form>
      {first.error === undefined ? null : <Problem error={first.error} onRetry={first.reload} />}
      {all.length === 0 ? null : <Entries entries={all} onFilter={set} />}
      {first.value && all.length === 0 ? (
        <p class="nothing dim">
          {chosen === '{}'
            ? 'Nothing has been changed yet. Changes of keys, model cards and agents appear here.'
            : 'No entry matches the filters.'}
        </p>
      ) : null}
      {problem === undefined ? null : <ProblemLine error={problem} />}
      {next.value === undefined ? null : (
        <PageButton class="more" disabled={busy} onClick={more}>
          Load more ({all.length} loaded)
        </PageButton>
      )}
    </>
  );
}

interface EntriesProps {
  readonly entries: readonly Entry[];
  readonly onFilter: (changed: Record<string, string>) => void;
}

function Entries({ entries, onFilter }: EntriesProps) {
  return (
    <WideTable
      label="Entries of the audit log"
      columns={['When', 'Who', 'Action', 'What', 'Detail']}
    >
      {entries.map(({ number, at, actor, actorName, action, subject, detail }) => (
        <tr key={number}>
          <td>
            <Moment at={at} />
          </td>
          <td>
            <PageButton
              class="quiet-link"
              title={`Show only changes by ${cleanLine(actor)}`}
              onClick={() => onFilter({ actor })}
            >
              {cleanLine(actorName ?? actor)}
            </PageButton>
          </td>
          <td>{cleanLine(action)}</td>
          <td class="mono">
            <PageButton
              class="quiet-link"
              title={`Show only changes of ${cleanLine(subject)}`}
              onClick={() => onFilter({ subject })}
            >
              {cleanLine(subject)}
            </PageButton>
          </td>
          <td class="mono small">{detail ? cleanLine(JSON.stringify(detail)) : ''}</td>
        </tr>
      ))}
    </WideTable>
  );
}

function read(
  server: Server,
  filter: Readonly<Record<string, string>>,
  before: number | undefined,
  signal?: AbortSignal,
) {
  const query = new URLSearchParams({ ...filter, limit: String(PAGE) });
  if (before !== undefined) query.set('before', String(before));
  return server.json(AuditAnswer, `/a2a/audit?${query}`, { signal });
}
