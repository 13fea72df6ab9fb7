/**
 * Executes the gateway's own tasks with a model.
 *
 * The answer is streamed as the artifact `answer`. If the answer ends with text, the last chunk has the usage in the
 * artifact's metadata. The last status of a completed task repeats the usage and the text of the answer, for clients of
 * the gateway's own REST API (dialect/). A very long text is not repeated.
 *
 * If the request does not contain the whole conversation (chat-completion.ts), the model also gets the earlier turns:
 * the completed tasks of the same context. Embeddings are returned as one artifact with a data part.
 */
import { randomUUIDv7 } from 'node:crypto';
import { userContent } from '../../../agent/index.ts';
import { repeatedAnswer } from '../../../bridge/index.ts';
import {
  A2AError,
  ONE_TEXT_KEY,
  type Message,
  type Metadata,
  type Part,
} from '../../../protocol/index.ts';
import type {
  AgentExecutor,
  ArtifactEvent,
  ExecutionContext,
  ExecutorEvent,
} from '../../../tasks/index.ts';
import { splitLast } from '../../../base/index.ts';
import { Caller, callerOf } from '../../api/caller.ts';
import { requestMetadata } from '../../tasks/executor.ts';
import { storedCaller } from '../../tasks/task-caller.ts';
import type { ModelTarget } from '../catalogue.ts';
import { type AskedChat, askedChat, embeddingModel, SETTINGS } from './chat-completion.ts';
import { ANSWER, withEarlier, type EarlierTurns } from './conversation.ts';
import type { Used } from '../cost.ts';
import { CutOff } from '../failure.ts';
import { streams } from '../limits.ts';
import type { AskOptions, Models } from '../models.ts';
import { invalidField } from '../vendor-api/request.ts';

export interface ModelExecutorOptions {
  readonly models: Models;
  /** Reads the earlier turns of the conversation. If undefined, the model gets only the current task. */
  readonly earlierTurns?: EarlierTurns | undefined;
}

/** A request to a model, without earlier turns. */
interface Asked extends Omit<AskedChat, 'model'> {
  readonly target: ModelTarget;
}

const EMBEDDINGS = 'embeddings';
/** Maximum number of characters of an answer that the last status repeats. A longer answer is only in the artifact. */
const MAX_FINAL_TEXT = 256 * 1024;
const TOO_LONG = 'The answer is in the artifact';

export function modelExecutor({
  models,
  earlierTurns,
}: ModelExecutorOptions): Required<Pick<AgentExecutor, 'receive' | 'execute'>> {
  /**
   * Reads a request. `message` is the whole request: a model's task never asks for input, so it contains only one
   * message of the user.
   */
  async function asked(workspace: string, message: Message, metadata: Metadata): Promise<Asked> {
    const { api_type: apiType = 'chat' } = metadata;
    if (apiType !== 'chat' && apiType !== 'embeddings') {
      throw invalidField('metadata.api_type', 'must be "chat" or "embeddings"');
    }
    const resolve = (model = models.defaultModel) => models.resolve(workspace, model, apiType);
    if (apiType === 'embeddings') {
      const target = await resolve(embeddingModel(metadata));
      const messages = textsOf(message).map((text) => userContent(text));
      return { target, request: { messages }, isWhole: true };
    }
    const { model, ...chat } = askedChat(message, metadata);
    return { target: await resolve(model), ...chat };
  }

  async function* chat(
    context: ExecutionContext,
    { target, request: own, isWhole }: Asked,
    askOptions: AskOptions,
  ) {
    const { contextId, task } = context;
    const before = isWhole ? [] : ((await earlierTurns?.(context, contextId, task.id)) ?? []);
    const request = withEarlier(before, target, own);
    let text = '';
    let held = '';
    let begun = false;
    /** Returns the next chunk of the artifact. `usage` is set only for the last chunk. */
    const sent = (part: Part, usage?: Metadata): ArtifactEvent => {
      const metadata = { ...(!begun && { [ONE_TEXT_KEY]: true }), ...usage };
      const about = begun && !usage ? {} : { metadata };
      const artifact = { artifactId: ANSWER, name: ANSWER, parts: [part], ...about };
      const append = begun;
      begun = true;
      return { kind: 'artifact-update', artifact, append, ...(usage && { lastChunk: true }) };
    };
    try {
      for await (const chunk of models.chat(target, request, askOptions)) {
        if (chunk.kind === 'text') {
          text += chunk.text;
          const all = held + chunk.text;
          const next = streams(target) ? splitLast(all) : { now: '', held: all };
          held = next.held;
          if (next.now !== '') yield sent({ kind: 'text', text: next.now });
        } else if (chunk.kind === 'blob') {
          if (held !== '') yield sent({ kind: 'text', text: held });
          held = '';
          yield sent({ kind: 'file', file: { bytes: chunk.data, mimeType: chunk.mediaType } });
        } else if (chunk.kind === 'finish') {
          const { used, reason } = chunk;
          // Without the reason, a caller could mistake a truncated answer for a complete one.
          const usage = { usage: used, ...(reason !== 'stop' && { finishReason: reason }) };
          if (held !== '') {
            yield sent({ kind: 'text', text: held }, usage);
            held = '';
          }
          const message = repeatedAnswer(text.length > MAX_FINAL_TEXT ? TOO_LONG : text, usage);
          yield { kind: 'status-update', state: 'completed', message } satisfies ExecutorEvent;
          return;
        }
      }
    } catch (error) {
      if (held !== '') yield sent({ kind: 'text', text: held });
      throw error;
    }
  }

  async function* embed({ message }: ExecutionContext, { target }: Asked, askOptions: AskOptions) {
    const { vectors, used } = await models.embed(target, textsOf(message), askOptions);
    const data = { embeddings: vectors, model: target.name };
    yield {
      kind: 'artifact-update',
      artifact: { artifactId: EMBEDDINGS, name: EMBEDDINGS, parts: [{ kind: 'data', data }] },
      lastChunk: true,
    } satisfies ExecutorEvent;
    yield ended('completed', `Number of embeddings in the artifact: ${vectors.length}`, used);
  }

  return {
    async receive(context, task) {
      if (task) return undefined;
      const caller = callerOf(context);
      const given = requestMetadata(context, [...SETTINGS, 'api_type']);
      const { target, request } = await asked(caller.workspace, context.message, given);
      await models.check(caller, target, request);
      return { metadata: { ...given, model: target.name, api_type: target.apiType } };
    },

    async *execute(context): AsyncGenerator<ExecutorEvent> {
      const { task, user, signal, contextId } = context;
      if (context.resumed && (task.artifacts?.length ?? 0) > 0) {
        const message =
          'The gateway was restarted in the middle of the answer: send the message again';
        yield { kind: 'status-update', state: 'failed', message };
        return;
      }
      if (task.status.state !== 'working') yield { kind: 'status-update', state: 'working' };
      const workspace = user?.id ?? '';
      // After a restart, `user` contains only the workspace, so the stored caller is used.
      const caller =
        user instanceof Caller
          ? user
          : { keyId: undefined, ...storedCaller(task.metadata), workspace, traceparent: undefined };
      try {
        const request = await asked(workspace, context.message, task.metadata ?? {});
        const work = request.target.apiType === 'chat' ? chat : embed;
        yield* work(context, request, { caller, signal, contextId, taskId: task.id });
      } catch (error) {
        if (signal.aborted || !(error instanceof A2AError)) throw error;
        const used = error instanceof CutOff ? error.used : undefined;
        yield ended('failed', error.message, used);
      }
    },
  };
}

/** Returns the last status of a task. A failed task has `usage` only if its answer was cut off. */
function ended(
  state: 'completed' | 'failed',
  text: string,
  usage: Used | undefined,
): ExecutorEvent {
  return {
    kind: 'status-update',
    state,
    message: {
      kind: 'message',
      messageId: randomUUIDv7(),
      role: 'agent',
      parts: [{ kind: 'text', text }],
      ...(usage && { metadata: { usage } }),
    },
  };
}

/**
 * Returns the texts of all text parts that are not empty. Throws `invalidParams` if there are none, or if a part is not
 * text.
 */
function textsOf({ parts }: Message): string[] {
  const texts = parts.flatMap((part, place) => {
    if (part.kind !== 'text') throw invalidField(`message.parts.${place}`, 'must be text');
    return part.text === '' ? [] : [part.text];
  });
  if (texts.length === 0) throw new A2AError('invalidParams', 'The message has no text to embed');
  return texts;
}
