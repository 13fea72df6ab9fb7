/**
 * /restore: restores the files and the conversation of a checkpoint.
 *
 * Files are overwritten, so a person must approve the restore like a tool call, except in yolo mode. The conversation
 * goes back to the point before the model requested the change, and the model is told that the user's request was
 * canceled. From a checkpoint of another conversation or of a helper, only the files are restored. A restore can be
 * undone, because a checkpoint is taken before it. If a restore is undone, the conversation goes back to the point
 * before the restore.
 */
import { randomUUIDv7 } from 'node:crypto';
import {
  type CustomAgentYield,
  functionCalls,
  type Event,
  type Question,
  type Rewind,
  type ToolErrorDetails,
} from '../../agent/index.ts';
import { conversationOf, eventBefore } from '../../agent/internal/index.ts';
import type { ConfirmationRequest } from '../../protocol/development-tool/index.ts';
import { APP } from '../session/workspace-agent.ts';
import type { Checkpoint, Checkpoints } from '../checkpoints/checkpoints.ts';
import { BEGUN } from '../approval/guard.ts';
import { modeIn, refuseInPlan } from './approval.ts';
import { argument, CommandError, type CoderCommand, type CommandContext } from './command.ts';

const NAME = 'restore';
/** Maximum number of listed checkpoints. Older checkpoints can still be restored by id. */
const MAX_LISTED = 30;

export const restoreCommand: CoderCommand = {
  name: NAME,
  description:
    'Restores the files and the conversation of a checkpoint. Without an ID it lists the checkpoints.',
  arguments: [argument('ID', 'The id of the checkpoint.', false)],
  changes: (id) => id !== '',
  asks: (id) => id !== '',
  subCommands: [
    {
      name: 'list',
      description: 'Lists the checkpoints, the newest first.',
      run: (_args, context) => list(context),
    },
  ],
  run: (id, context) => (id === '' ? list(context) : restore(id, context)),
};

async function checkpointsOf({ agent }: CommandContext): Promise<Checkpoints> {
  const checkpoints = await agent.checkpoints();
  if (checkpoints) return checkpoints;
  throw new CommandError(
    'Checkpoints are not available. The usual cause is that git is not installed.',
  );
}

async function* list(context: CommandContext): AsyncGenerator<CustomAgentYield> {
  const all = await (await checkpointsOf(context)).list(context.run.signal);
  if (all.length === 0) {
    yield 'There are no checkpoints yet. A checkpoint is taken before each change.';
    return;
  }
  const lines = all.slice(0, MAX_LISTED).map((checkpoint) => {
    const filesOnly = rewindTo(checkpoint, context) ? '' : ' (files only)';
    return `${checkpoint.id}  ${new Date(checkpoint.at).toISOString()}  ${checkpoint.label}${filesOnly}`;
  });
  yield lines.join('\n');
  if (all.length > lines.length) yield `\nand ${all.length - lines.length} older checkpoints`;
}

async function* restore(id: string, context: CommandContext): AsyncGenerator<CustomAgentYield> {
  const { run } = context;
  refuseInPlan(context);
  const checkpoints = await checkpointsOf(context);
  const wanted = (await checkpoints.list(run.signal)).find((each) => each.id === id);
  if (!wanted)
    throw new CommandError(`There is no checkpoint ${id}; /restore list shows the checkpoints.`);

  const callId = `${NAME}-${run.runId}`;
  const answer = run.answer(callId);
  const asked = run.events.find((event) => isQuestion(event, run.runId));
  if (!answer && (asked || modeIn(context) !== 'yolo')) {
    yield asked ?? askFirst(callId, wanted);
    return;
  }
  if (answer && answer.confirmed !== true) {
    yield settled(callId, 'the person declined', { type: 'declined' });
    yield 'Nothing was changed.';
    return;
  }

  if (asked) yield { partial: true, actions: { progress: { callId, value: BEGUN } } };
  const head = conversationOf(run.events, undefined).at(-1)?.id ?? null;
  const place = { session: run.session.id, eventId: head };
  const rewind = rewindTo(wanted, context);
  const { written, removed, blocked, before } = await checkpoints.restore(id, run.signal, place);
  const done = `Restored ${id}: ${written.length} files written, ${removed.length} removed.`;
  const text = [
    done,
    ...(blocked.length > 0
      ? [`Not restored, because other files are in their place: ${blocked.join(', ')}`]
      : []),
    rewind ? 'The conversation is restored too.' : 'The conversation is unchanged.',
    `To undo this: /restore ${before.id}`,
  ].join('\n');
  if (asked) yield settled(callId, done);
  yield {
    content: { role: 'model', parts: [{ kind: 'text', text }] },
    ...(rewind && { actions: { rewind } }),
  };
}

/**
 * Returns the position in the conversation to go back to. Returns undefined if the checkpoint belongs to another
 * conversation or to a helper, or if its position is unknown. In these cases, only the files are restored.
 */
function rewindTo({ extra }: Checkpoint, { run }: CommandContext): Rewind | undefined {
  const { session, runId, callId, eventId } = extra;
  if (session !== run.session.id) return undefined;
  if (eventId === null) return { to: null };
  if (typeof eventId === 'string') {
    return run.events.some(({ id }) => id === eventId) ? { to: eventId } : undefined;
  }
  const made = run.events.find(
    (event) =>
      event.runId === runId && functionCalls(event.content).some(({ id }) => id === callId),
  );
  const to = made && eventBefore(run.events, made.id);
  return typeof to === 'string' ? { to, cancels: true } : undefined;
}

function isQuestion({ runId, actions }: Event, wanted: string): boolean {
  return runId === wanted && actions.questions !== undefined;
}

/** Returns a request for approval, in the same form as for a tool call of the model. */
function askFirst(id: string, { id: checkpoint, label, at }: Checkpoint): CustomAgentYield {
  const args = { id: checkpoint };
  const when = new Date(at).toISOString();
  const description = `Overwrite the files of this workspace with their state at ${when}, before "${label}"`;
  const request: ConfirmationRequest = {
    options: [
      { id: 'proceed_once', name: 'Restore' },
      { id: 'cancel', name: 'Cancel' },
    ],
    generic_details: { description },
  };
  const question: Question = {
    id,
    kind: 'confirmation',
    text: `Restore ${checkpoint}`,
    agent: APP,
    tool: NAME,
    args,
    detail: { request, correlationId: randomUUIDv7() },
  };
  return {
    content: { role: 'model', parts: [{ kind: 'function-call', id, name: NAME, args }] },
    actions: { questions: [question] },
    metadata: { asks: 'confirmation' },
  };
}

function settled(id: string, text: string, error?: ToolErrorDetails): CustomAgentYield {
  const response = { kind: 'function-response', id, name: NAME, response: text } as const;
  const shown = error ? { isError: true, error } : { display: { text } };
  return { content: { role: 'user', parts: [{ ...response, ...shown }] } };
}
