/** Lists the model cards of the workspace. A person can edit a card, compare its versions and restore one of them. */
import { useSignal } from '@preact/signals';
import { useId } from 'preact/hooks';
import { reasonOf } from '../../../base/index.ts';
import { cleanLine } from '../../../display/index.ts';
import { A2AError } from '../../../protocol/index.ts';
import { PageMessage, Problem, ProblemLine, useAction, useLoaded } from '../parts/loading.tsx';
import { Moment } from '../parts/task-parts.tsx';
import { WideTable } from '../parts/lists.tsx';
import { hrefOf } from '../server/route.ts';
import type { PageProps, Server } from '../server/server.ts';
import { ChangeView } from '../session/lines.tsx';
import { CardList, ShownCard, VersionList, type ShownVersion } from './api.ts';
import { Alert, bound, PageButton, Form } from '../parts/controls.tsx';

const DIFF_ROWS = 200;

export function CardsPage({ server, path: [id] }: PageProps) {
  return id === undefined ? (
    <CardTable server={server} />
  ) : (
    <CardEditor key={id} server={server} id={id} />
  );
}

function CardTable({ server }: { readonly server: Server }) {
  const cards = useLoaded(
    (signal) => server.json(CardList, '/a2a/model-cards?limit=100&sort=name', { signal }),
    [server],
  );
  return (
    <>
      <h1>Model cards</h1>
      {cards.error === undefined ? null : <Problem error={cards.error} onRetry={cards.reload} />}
      {cards.value?.total === 0 ? (
        <PageMessage title="No model cards yet">
          <p>
            A model card gives a model a name for callers, a provider and a price. Create one with{' '}
            <code>POST /a2a/model-cards</code>.
          </p>
        </PageMessage>
      ) : null}
      {cards.value && cards.value.total > 0 ? (
        <>
          <WideTable
            label="Model cards"
            columns={['Name', 'Slug', 'Provider', 'Version', 'Changed']}
          >
            {cards.value.items.map(({ id, name, slug, card, version, updatedAt }) => (
              <tr key={id}>
                <th scope="row">
                  <a href={hrefOf(['models', id])}>{cleanLine(name)}</a>
                </th>
                <td class="mono">{cleanLine(slug)}</td>
                <td>{providerOf(card)}</td>
                <td>{version}</td>
                <td>
                  <Moment at={updatedAt} />
                </td>
              </tr>
            ))}
          </WideTable>
          {cards.value.total > cards.value.items.length ? (
            <p class="dim">The first 100 of {cards.value.total.toLocaleString()} cards.</p>
          ) : null}
        </>
      ) : null}
    </>
  );
}

function providerOf(card: Readonly<Record<string, unknown>>): string {
  const { provider, routes } = card;
  if (typeof provider === 'string') return cleanLine(provider);
  return Array.isArray(routes) ? `${routes.length} routes` : 'all that list the model';
}

function CardEditor({ server, id }: { readonly server: Server; readonly id: string }) {
  const path = `/a2a/model-cards/${encodeURIComponent(id)}`;
  const card = useLoaded((signal) => server.json(ShownCard, path, { signal }), [server, path]);
  const versions = useLoaded(
    (signal) => server.json(VersionList, `${path}/versions?limit=100`, { signal }),
    [server, path],
  );
  const { busy, problem, run, clear } = useAction();
  /** How often the person has discarded the edited text. When this number changes, the editor is reset. */
  const discarded = useSignal(0);
  const writes = server.may('cards:write');
  const reload = () => {
    card.reload();
    versions.reload();
  };
  const change = (work: () => Promise<unknown>) =>
    run(async () => {
      await work();
      reload();
    });
  const loadNewest = () => {
    clear();
    discarded.value += 1;
    reload();
  };
  const current = card.value;
  return (
    <>
      <p>
        <a href={hrefOf(['models'])}>All model cards</a>
      </p>
      <h1>{current ? cleanLine(current.name) : 'Model card'}</h1>
      {card.error === undefined ? null : <Problem error={card.error} onRetry={card.reload} />}
      {problem === undefined ? null : isConflict(problem) ? (
        <div class="problem-line" role="alert">
          <p>
            <strong>Somebody else has changed this card.</strong> Your text is not saved. Copy what
            you need, then load the newest version.
          </p>
          <PageButton onClick={loadNewest}>Load the newest version</PageButton>
        </div>
      ) : (
        <ProblemLine error={problem} />
      )}
      {current ? (
        <JsonEditor
          key={`${current.version} ${discarded.value}`}
          value={contentOf(current)}
          readOnly={!writes}
          busy={busy}
          onSave={(body) =>
            change(() =>
              server.ask(path, {
                method: 'PUT',
                body,
                // If the card has changed since it was loaded, the server refuses this update.
                headers: { 'if-match': `"${current.version}"` },
              }),
            )
          }
        />
      ) : null}
      {current && versions.value ? (
        <Versions
          current={current}
          versions={versions.value.items}
          busy={busy}
          onRestore={
            writes
              ? (version) =>
                  change(() =>
                    server.ask(`${path}/versions/${version}/restore`, {
                      method: 'POST',
                      headers: { 'if-match': `"${current.version}"` },
                    }),
                  )
              : undefined
          }
        />
      ) : null}
    </>
  );
}

/** Returns whether the error means that the card has changed since this page loaded it. */
function isConflict(error: unknown): boolean {
  return error instanceof A2AError && error.kind === 'preconditionFailed';
}

/** Returns the fields of a card that a person can edit. */
function contentOf({ name, slug, description, card }: ShownCard | ShownVersion) {
  return { name, slug, description, card };
}

interface EditorProps {
  readonly value: object;
  readonly readOnly: boolean;
  readonly busy: boolean;
  readonly onSave: (body: unknown) => void;
}

function JsonEditor({ value, readOnly, busy, onSave }: EditorProps) {
  const id = useId();
  const before = JSON.stringify(value, null, 2);
  const text = useSignal(before);
  const problem = useSignal('');
  const save = () => {
    problem.value = '';
    try {
      onSave(JSON.parse(text.value));
    } catch (error) {
      problem.value = `This is not JSON: ${reasonOf(error)}`;
    }
  };
  return (
    <Form class="panel-form" onSubmit={save}>
      <label for={id}>The card as JSON</label>
      <textarea
        id={id}
        class="json"
        rows={16}
        spellcheck={false}
        readOnly={readOnly}
        {...bound(text)}
      />
      <Alert text={problem.value} />
      {readOnly ? null : (
        <button type="submit" class="primary" disabled={busy || text.value === before}>
          Save as a new version
        </button>
      )}
    </Form>
  );
}

interface VersionsProps {
  readonly current: ShownCard;
  readonly versions: readonly ShownVersion[];
  readonly busy: boolean;
  readonly onRestore: ((version: number) => void) | undefined;
}

function Versions({ current, versions, busy, onRestore }: VersionsProps) {
  const open = useSignal<number | undefined>(undefined);
  const now = JSON.stringify(contentOf(current), null, 2);
  return (
    <section aria-labelledby="versions">
      <h2 id="versions">Versions</h2>
      <ul class="task-list">
        {versions.map((each) => (
          <li key={each.version} class="task-row" aria-label={`Version ${each.version}`}>
            <div class="task-line">
              <strong>Version {each.version}</strong>
              <span class="dim">
                <Moment at={each.createdAt} /> · {cleanLine(each.createdBy)}
              </span>
              <span class="actions">
                {each.version === current.version ? (
                  <span class="dim">the current version</span>
                ) : (
                  <>
                    <PageButton
                      aria-expanded={open.value === each.version}
                      onClick={() =>
                        (open.value = open.value === each.version ? undefined : each.version)
                      }
                    >
                      Compare
                    </PageButton>
                    {onRestore ? (
                      <PageButton disabled={busy} onClick={() => onRestore(each.version)}>
                        Restore
                      </PageButton>
                    ) : null}
                  </>
                )}
              </span>
            </div>
            {open.value === each.version ? (
              <>
                <p class="dim small">
                  If you restore version {each.version}, the current version changes as follows:
                </p>
                <ChangeView
                  first={DIFF_ROWS}
                  diff={{
                    file_name: 'card.json',
                    file_path: 'card.json',
                    old_content: now,
                    new_content: JSON.stringify(contentOf(each), null, 2),
                  }}
                />
              </>
            ) : null}
          </li>
        ))}
      </ul>
    </section>
  );
}
