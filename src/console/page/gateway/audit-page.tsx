/** The audit log: who changed which key, model card or agent. */
import { useSignal } from '@preact/signals';
import { useId } from 'preact/hooks';
import type * as z from 'zod';
import { cleanLine } from '../../../display/index.ts';
import { Problem, ProblemLine } from '../parts/problem.tsx';
import { Moment } from '../parts/task-parts.tsx';
import { useLoaded } from '../parts/use-loaded.ts';
import type { Server } from '../server/server.ts';
import { leaveIfRefused } from '../server/sign-in.ts';
import { AuditAnswer } from './api.ts';

const PAGE = 100;

type Entry = z.infer<typeof AuditAnswer>['items'][number];

export function AuditLogPage({ server }: { readonly server: Server }) {
  const id = useId();
  const words = useSignal('');
  const action = useSignal('');
  const later = useSignal<readonly Entry[]>([]);
  const next = useSignal<number | undefined>(undefined);
  const problem = useSignal<unknown>(undefined);
  const first = useLoaded(
    async (signal) => {
      const page = await read(server, undefined, signal);
      later.value = [];
      next.value = page.next;
      return page;
    },
    [server],
  );
  const more = () => {
    problem.value = undefined;
    read(server, next.value).then(
      (page) => {
        later.value = [...later.value, ...page.items];
        next.value = page.next;
      },
      (error: unknown) => leaveIfRefused(error) || (problem.value = error),
    );
  };
  const all = [...(first.value?.items ?? []), ...later.value];
  const actions = [...new Set(all.map((each) => each.action))].toSorted();
  const shown = all.filter(
    (each) =>
      (action.value === '' || each.action === action.value) &&
      JSON.stringify(each).toLowerCase().includes(words.value.trim().toLowerCase()),
  );
  return (
    <>
      <h1>Audit log</h1>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <div>
          <label for={`${id}-action`}>Action</label>
          <select
            id={`${id}-action`}
            value={action.value}
            onChange={({ currentTarget }) => (action.value = currentTarget.value)}
          >
            <option value="">all</option>
            {actions.map((each) => (
              <option key={each} value={each}>
                {each}
              </option>
            ))}
          </select>
        </div>
        <div class="grows">
          <label for={`${id}-search`}>Search what is loaded</label>
          <input
            id={`${id}-search`}
            type="search"
            value={words.value}
            onInput={({ currentTarget }) => (words.value = currentTarget.value)}
          />
        </div>
        <button type="button" onClick={first.reload}>
          Refresh
        </button>
      </form>
      {first.error === undefined ? null : <Problem error={first.error} onRetry={first.reload} />}
      <div class="wide" tabIndex={0} role="region" aria-label="Entries of the audit log">
        <table class="numbers">
          <thead>
            <tr>
              <th scope="col">When</th>
              <th scope="col">Who</th>
              <th scope="col">Action</th>
              <th scope="col">What</th>
              <th scope="col">Detail</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((each) => (
              <tr key={each.number}>
                <td>
                  <Moment at={each.at} />
                </td>
                <td>{cleanLine(each.actorName ?? each.actor)}</td>
                <td>{cleanLine(each.action)}</td>
                <td class="mono">{cleanLine(each.subject)}</td>
                <td class="mono small">
                  {each.detail ? cleanLine(JSON.stringify(each.detail)) : ''}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {first.value && shown.length === 0 ? <p class="nothing dim">No entry matches.</p> : null}
      {problem.value === undefined ? null : <ProblemLine error={problem.value} />}
      {next.value === undefined ? null : (
        <button type="button" class="more" onClick={more}>
          Load more ({all.length} loaded)
        </button>
      )}
    </>
  );
}

function read(server: Server, before: number | undefined, signal?: AbortSignal) {
  const query = new URLSearchParams({ limit: String(PAGE) });
  if (before !== undefined) query.set('before', String(before));
  return server.json(AuditAnswer, `/a2a/audit?${query}`, { signal });
}
