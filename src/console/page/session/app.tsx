/**
 * The page of a session. It shows the session, the progress or failure of joining, or the form that asks for a token.
 */
import { signal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { reasonOf } from '../../../base/index.ts';
import { Alert, bound, PageButton, Form } from '../parts/controls.tsx';
import { redeemTicket, remembered, SERVER_KIND, BASE, ownName } from '../server/access.ts';
import { isRefused } from '../server/server.ts';
import { openAgentSession } from './agent-session.ts';
import { announcement, watchAttention } from './attention.ts';
import { Header } from './header.tsx';
import { PageSession } from './page-session.ts';
import { PromptField } from './prompt-field.tsx';
import { ContentEditor, RequestDialog } from './request-dialog.tsx';
import { TranscriptView } from './transcript.tsx';
import { joinLive, type LiveSession } from '../../../live/client/index.ts';

type Screen =
  | { readonly kind: 'joining' }
  | { readonly kind: 'session'; readonly store: PageSession }
  /**
   * The server requires a token. `why` is the reason why the last token or link was refused. It is empty if there was
   * no token or link.
   */
  | { readonly kind: 'token'; readonly why: string }
  | { readonly kind: 'failed'; readonly why: string };

export const screen = signal<Screen>({ kind: 'joining' });

/** Joins the session, with the ticket in the address or with the token of this tab. */
export async function start(): Promise<void> {
  screen.value = { kind: 'joining' };
  try {
    await redeemTicket();
    await join(remembered('token').value);
  } catch (error) {
    // `join` handles the refusal of a token. So a refusal here is the refusal of the ticket.
    const why = 'This link has already been used, or it has expired.';
    screen.value = isRefused(error)
      ? { kind: 'token', why }
      : { kind: 'failed', why: reasonOf(error) };
  }
}

async function join(token: string | undefined, seen?: number): Promise<void> {
  try {
    const store = await openSession(token, seen);
    remembered('token').value = token;
    screen.value = { kind: 'session', store };
    void store.follow().then((error) => {
      if (isRefused(error)) askForToken(token);
    });
  } catch (error) {
    if (!isRefused(error)) throw error;
    askForToken(token);
  }
}

/** Asks for a token. `refused` is the token that the server has refused. Undefined if the page had no token. */
function askForToken(refused: string | undefined): void {
  remembered('token').value = undefined;
  const why = refused === undefined ? '' : 'This access was revoked, or it has expired.';
  screen.value = { kind: 'token', why };
}

/** Joins the session again, with all its messages. */
function loadAll(store: PageSession): void {
  const { finished, open } = store.state.value.log;
  const joined = join(remembered('token').value, finished.length + open.length);
  store.run(joined.then(() => store.session.close()));
}

export function PageApp() {
  const shown = screen.value;
  switch (shown.kind) {
    case 'session':
      return <Session store={shown.store} />;
    case 'token':
      return <TokenForm why={shown.why} />;
    case 'failed':
      return (
        <main class="card">
          <h1>No session</h1>
          <p>{shown.why}</p>
          <p>Check that the program is still running, and that this device is in its network.</p>
          <PageButton class="option" onClick={() => void start()}>
            Try again
          </PageButton>
        </main>
      );
    default:
      return (
        <main class="card" aria-busy="true">
          <p class="dim">Joining the session…</p>
        </main>
      );
  }
}

function TokenForm({ why }: { readonly why: string }) {
  const token = useSignal('');
  const problem = useSignal('');
  const send = () => {
    const given = token.value.trim();
    if (given === '') return;
    problem.value = '';
    join(given).catch((error: unknown) => (problem.value = reasonOf(error)));
  };
  return (
    <main class="card">
      <h1>Join the session</h1>
      <Alert text={why} />
      <Alert text={problem.value} />
      <p>
        Type <code>/remote</code> in the terminal and open the link that it shows. Or enter a token:
      </p>
      <Form onSubmit={send}>
        <label for="token">Token</label>
        <input id="token" type="password" autocomplete="off" {...bound(token)} />
        <button type="submit" class="option allow">
          Join
        </button>
      </Form>
    </main>
  );
}

function Session({ store }: { readonly store: PageSession }) {
  useEffect(() => watchAttention(store), [store]);
  const ended = store.connection.value === 'ended';
  return (
    <div class="session">
      <Header store={store} />
      <main class="fills">
        <TranscriptView
          key={store.seen}
          store={store}
          onLoadAll={() => loadAll(store)}
          empty={
            <p class="empty dim">
              Nothing has been said yet.
              {SERVER_KIND === 'live'
                ? ' A prompt that you send here also appears in the terminal.'
                : null}
            </p>
          }
        />
      </main>
      {ended ? (
        <div class="ended" role="alert">
          <span>{store.problem.value === '' ? 'The session has ended.' : store.problem.value}</span>
          <PageButton onClick={() => void start()}>Join again</PageButton>
        </div>
      ) : (
        <RequestDialog store={store} />
      )}
      <PromptField store={store} />
      <ContentEditor store={store} />
      <div class="hidden" role="status" aria-live="polite">
        {announcement.value}
      </div>
    </div>
  );
}

/** The number of attempts is unlimited, because a phone may sleep for hours. */
const RETRY = { attempts: Infinity, delayMs: 250, maxDelayMs: 5000 };

/** Number of messages that are loaded first. A longer session would take seconds to load. */
const FIRST_MESSAGES = 2000;

/**
 * Opens the session. Without `seen`, loads only the newest FIRST_MESSAGES messages of a live session. With `seen`,
 * loads all messages. `seen` is the number of entries that the page had shown before the person asked for all messages.
 * Throws A2AError `unauthenticated` if the server requires another token.
 */
async function openSession(token: string | undefined, seen?: number): Promise<PageSession> {
  const opened: { store?: PageSession } = {};
  const onConnection = (connected: boolean) => {
    const { store } = opened;
    if (store) store.connection.value = connected ? 'connected' : 'reconnecting';
  };
  const name = ownName();
  const session: LiveSession =
    SERVER_KIND === 'live'
      ? await joinLive(BASE, {
          token,
          name,
          retry: RETRY,
          onConnection,
          history: seen === undefined ? FIRST_MESSAGES : undefined,
        })
      : await openAgentSession(BASE, {
          token,
          name,
          taskId: remembered('task').value,
          onTask: (taskId) => (remembered('task').value = taskId),
        });
  return (opened.store = new PageSession(session, seen));
}
