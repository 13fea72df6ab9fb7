/**
 * A remote A2A agent as an agent of the framework, in any composition.
 *
 *   const weather = remoteAgent({ name: 'weather', description: 'Knows the weather', url: 'https://weather.example' });
 *   const team = sequentialAgent({ name: 'team', subAgents: [planner, weather] });
 *
 * It hears what was said since it last spoke, in one conversation (`contextId`) for each session. What it says comes as
 * partial events and then as one whole; what it asks is a question of the run, and the answer goes to the same task. A
 * run that is aborted, or canceled while it waits, cancels the remote's task. The task's ids are noted in our events, so that a run goes on after a
 * crash of ours, whether the remote waits for an answer or is at work.
 *
 * What it sends is a stranger's data. It becomes content and nothing else: no metadata of a remote's sets state, branch,
 * author or transfer. It is held to the protocol and to limits, and what breaks them ends the run with an error event.
 */
import type { Agent } from '../../agent/index.ts';
import {
  quote,
  RemoteAgentError,
  remoteErrorCode,
  remoteLimits,
  type AgentClient,
  type RemoteLimits,
} from '../../client/index.ts';
import { A2AError } from '../../protocol/index.ts';
import { RemoteCall } from './call.ts';
import {
  remoteConnection,
  type RemoteConnection,
  type RemoteConnectionOptions,
} from './connection.ts';
import { waitingTasks } from './note.ts';
import { nextTurn, stillOpen, toNewTask, type RemoteTurn } from './turn.ts';

/** The options of `remoteAgent` that do not depend on the connection. */
export interface RemoteAgentProfile {
  /** Unique among the agents that run together. */
  readonly name: string;
  /** Others choose by it. Without one, the card's is used once the card is known: give one where that matters. */
  readonly description?: string;
  /** The remote goes on with a completed task when it gets another message for it. Default: it begins a new one. */
  readonly continues?: boolean;
  readonly limits?: RemoteLimits;
}

/** The options of `remoteAgent`. */
export type RemoteAgentOptions = RemoteAgentProfile &
  (
    | RemoteConnectionOptions
    /** A client of your own: one in the same process, for example. Its credentials and wire are its own matter. */
    | { readonly client: AgentClient }
  );

const MAX_DESCRIPTION = 1000;

/**
 * Makes an agent of the framework of a remote A2A agent.
 *
 *   const weather = remoteAgent({ name: 'weather', url: 'http://localhost:4000' });
 */
export function remoteAgent(options: RemoteAgentOptions): Agent {
  const { name, description, continues = false } = options;
  const limits = remoteLimits(options.limits);
  const connection =
    'client' in options ? given(options.client) : remoteConnection(options, limits);

  return {
    name,
    get description() {
      return description ?? quote(connection.card?.description ?? '', MAX_DESCRIPTION);
    },
    subAgents: [],
    async *run(context) {
      const { signal } = context;
      signal.throwIfAborted();
      const open = stillOpen(context);
      // Asked again, because whoever runs several agents goes by the events of each.
      for (const [id, question] of open) yield context.question(id, question);
      let turn = open.length > 0 ? undefined : nextTurn(context, name, continues);
      while (turn) {
        const call = new RemoteCall(connection, context, turn, { limits, continues });
        try {
          yield* call.events();
          return;
        } catch (error) {
          signal.throwIfAborted();
          if (call.received || !isOver(error, turn)) {
            const code = remoteErrorCode(error);
            const said = quote(
              error instanceof Error ? error.message : String(error),
              MAX_DESCRIPTION,
            );
            // The agent may have moved to another address.
            if (code === 'remote-unreachable') connection.forget();
            yield call.failure(new RemoteAgentError(code, `the remote agent ${name}: ${said}`));
            return;
          }
          turn = toNewTask(turn);
        }
      }
    },
    async cancel({ events, ...run }) {
      const tasks = waitingTasks(events, name, run.runId);
      if (tasks.length === 0) return;
      const signal = AbortSignal.any([run.signal, AbortSignal.timeout(limits.cancelMs)]);
      const client = await connection.open(run, signal);
      await Promise.allSettled(tasks.map((id) => client.cancel(id, { signal })));
    },
  };
}

function given(client: AgentClient): RemoteConnection {
  return { card: client.card, open: async () => client, forget() {} };
}

/** The task that a new message was meant for has ended meanwhile, and the remote says so. */
function isOver(error: unknown, { fresh, taskId }: RemoteTurn): boolean {
  return (
    fresh &&
    taskId !== undefined &&
    error instanceof A2AError &&
    (error.kind === 'taskNotFound' || error.kind === 'unsupportedOperation')
  );
}
