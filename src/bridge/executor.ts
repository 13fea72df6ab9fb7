/**
 * Any agent of the framework behind the A2A server.
 *
 *   await serve(toA2AAgent(llmAgent({ name: 'weather', … }))).listen(4000);
 *
 * A context is a session, whose user is the one that the server has authenticated (`anonymous` where it authenticates
 * nobody). A turn of a task is a run; its id is made from the task's, so that an answer finds its run in any process
 * that has the same session store. translation.ts says what a peer hears of it, question.ts how it is asked and how it
 * answers. What is left here is how a run ends:
 *
 * - the agent is done, or has escalated and there is nobody above: `completed`, with the answer's text;
 * - questions are open: `input-required`, or `auth-required` when all that is wanted is authorization;
 * - an error event, an unknown agent among them: `failed`, with the cause in our log alone;
 * - the task is canceled: so is its run, whether it goes on or waits, and what remote agents do for it.
 *
 * Nothing is kept between executions: what a waiting run needs is in its session.
 */
import type {
  A2AAgent,
  AgentOptions,
  AgentProfile,
  CancelContext,
  ExecutionContext,
  ExecutorEvent,
  RequestContext,
} from '../tasks/index.ts';
import {
  type Agent,
  type ArtifactContent,
  memoryArtifacts,
  type BlobPart,
  RunError,
  type Event,
  type Question,
  createRunner,
  type PendingOptions,
  type RunnerOptions,
  SessionNotFound,
  memorySessions,
} from '../agent/index.ts';
import { type ConverterOptions, fromA2AMessage, toA2AParts } from './converter.ts';
import { profileOf } from './profile.ts';
import { questionMessage, readAnswers } from './question.ts';
import { createTranslation } from './translation.ts';

export interface A2AAgentOptions
  extends ConverterOptions, Partial<Omit<RunnerOptions, 'agent'>>, Pick<AgentOptions, 'continues'> {
  /** What the card is to say other than what the agent says of itself. */
  readonly profile?: Partial<AgentProfile>;
}

/** The user of those whom the server does not know. */
const ANONYMOUS = 'anonymous';
/** A longer answer is only in its artifact, not in the completing status as well. */
const MAX_FINAL_TEXT = 256 * 1024;
const LOST = 'The conversation that asked this is gone. Please send the request again.';

export function toA2AAgent(agent: Agent, options: A2AAgentOptions = {}): A2AAgent {
  const { profile, continues, exposeThoughts, exposeToolCalls, ...rest } = options;
  const { app = agent.name, sessions = memorySessions(), artifacts = memoryArtifacts() } = rest;
  const runner = createRunner({ ...rest, agent, app, sessions, artifacts });

  /** What the run waits for; nothing where the store does not know it. */
  async function pending(at: PendingOptions): Promise<readonly Question[]> {
    return (await unlessUnknown(runner.pending(at))) ?? [];
  }

  async function cancel(_taskId: string, context: CancelContext): Promise<void> {
    await unlessUnknown(runner.cancel(placeOf(context)));
  }

  async function* execute(context: ExecutionContext): AsyncGenerator<ExecutorEvent> {
    const { message, signal, task, turn } = context;
    const at = placeOf(context);
    if (task.status.state !== 'working') yield { kind: 'status-update', state: 'working' };
    const key = { app, user: at.user, id: at.session };
    let waits = false;
    const translation = createTranslation({ exposeThoughts, exposeToolCalls });
    let events: AsyncIterable<Event>;
    if (turn.length === 1) {
      events = runner.run({ ...at, message: fromA2AMessage(message), signal });
    } else {
      const questions = await pending(at);
      if (questions.length === 0) {
        yield { kind: 'status-update', state: 'failed', message: LOST };
        return;
      }
      const { answers, files, problem } = readAnswers(message, questions);
      if (answers.length === 0) {
        yield asking(questions, problem);
        return;
      }
      waits = answers.length < questions.length;
      events = runner.resume({
        ...at,
        answers,
        ...(files.length > 0 && { message: files }),
        signal,
      });
    }
    for await (const event of events) {
      if (event.error) throw new RunFailed(event);
      waits ||= event.actions.questions !== undefined;
      yield* translation.translate(event);
      for (const [name, version] of Object.entries(event.actions.artifactDelta ?? {})) {
        const content = await artifacts.load(key, name, version);
        if (content) yield saved(name, content);
      }
    }
    const open = waits ? await pending(at) : [];
    yield open.length > 0 ? asking(open) : completed(translation.finalText());
  }

  return {
    profile: profileOf(agent, profile),
    execute,
    cancel,
    receive: (context, task) =>
      task && {
        continues: typeof continues === 'function' ? continues(context) : continues === true,
      },
  };
}

/** Where the run of a task's turn is. */
function placeOf(context: CancelContext): PendingOptions {
  return { user: userOf(context), session: context.contextId, runId: runIdOf(context) };
}

/** Undefined where the store does not know the run. */
async function unlessUnknown<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof SessionNotFound) return undefined;
    if (error instanceof RunError && error.code === 'unknown-run') return undefined;
    throw error;
  }
}

/** For our log. */
class RunFailed extends Error {
  override readonly name = 'RunFailed';
  constructor({ author, error }: Event) {
    super(`${author}: ${error?.code}: ${error?.message}`);
  }
}

/** The same id in another tenant is another user; no id makes anybody somebody else. The empty one is no id. */
export function userOf({ user, tenant }: Pick<RequestContext, 'user' | 'tenant'>): string {
  const id = user === undefined || user.id === '' ? ANONYMOUS : named(user.id);
  return tenant === '' ? id : `${encodeURIComponent(tenant)}/${id}`;
}

function named(id: string): string {
  return id === ANONYMOUS || id.includes('/') ? `/${id}` : id;
}

/** The task's id; in a later turn, with the number of messages before it. */
function runIdOf({ task, turn }: CancelContext): string {
  const said = task.history?.filter(({ role }) => role === 'user').length ?? 0;
  const before = said - turn.length;
  return before > 0 ? `${task.id}:${before}` : task.id;
}

function asking(questions: readonly Question[], problem?: string): ExecutorEvent {
  const auth = questions.every(({ kind }) => kind === 'auth');
  const state = auth ? 'auth-required' : 'input-required';
  return { kind: 'status-update', state, message: questionMessage(questions, problem) };
}

function completed(text: string): ExecutorEvent {
  const told = text !== '' && text.length <= MAX_FINAL_TEXT;
  return { kind: 'status-update', state: 'completed', ...(told && { message: text }) };
}

/** A file, also when it is text: nobody is to take it for a part of the answer. */
function saved(name: string, content: ArtifactContent): ExecutorEvent {
  const part = content.kind === 'text' ? asBlob(content.text) : content;
  const parts = toA2AParts([{ ...part, name: part.name ?? name }]);
  const artifact = { artifactId: `file-${name}`, name, parts };
  return { kind: 'artifact-update', artifact, lastChunk: true };
}

function asBlob(text: string): BlobPart {
  const data = Buffer.from(text).toString('base64');
  return { kind: 'blob', mediaType: 'text/plain', data };
}
