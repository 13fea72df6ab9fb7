/**
 * Executes the gateway's own tasks with a model.
 *
 * The answer is streamed as the artifact `answer`, whose metadata contains the usage. The last status repeats both, for
 * clients of the gateway's dialect. The model also gets the earlier turns of the conversation: the completed tasks of the
 * same context. Embeddings are returned as one artifact with a data part.
 */
import { randomUUIDv7 } from 'node:crypto';
import type { Content } from '../../agent/index.ts';
import { fromA2AMessage, repeatedAnswer } from '../../bridge/index.ts';
import { A2AError, ONE_TEXT_KEY, textOf, type Metadata, type Part } from '../../protocol/index.ts';
import type {
  AgentExecutor,
  ArtifactEvent,
  ExecutionContext,
  ExecutorEvent,
} from '../../tasks/index.ts';
import { splitLast } from '../../base/index.ts';
import { Caller, callerOf } from '../api/caller.ts';
import { requestMetadata } from '../tasks/executor.ts';
import type { ModelTarget } from './catalogue.ts';
import { ANSWER, type EarlierTurns } from './conversation.ts';
import type { Used } from './cost.ts';
import { CutOff } from './failure.ts';
import type { AskOptions, Models } from './models.ts';
import type { ApiType } from './provider.ts';

export interface ModelExecutorOptions {
  readonly models: Models;
  /** Reads the earlier turns of the conversation. If undefined, the model gets only the current task. */
  readonly earlierTurns?: EarlierTurns | undefined;
}

const EMBEDDINGS = 'embeddings';
/** Maximum length of an answer that the last status repeats. A longer answer is only in the artifact. */
const MAX_FINAL_TEXT = 256 * 1024;
const TOO_LONG = 'The answer is in the artifact';

export function modelExecutor({
  models,
  earlierTurns,
}: ModelExecutorOptions): Required<Pick<AgentExecutor, 'receive' | 'execute'>> {
  function targetOf(workspace: string, metadata: Metadata): ModelTarget {
    const { model = models.defaultModel, api_type: apiType = 'chat' } = metadata;
    if (typeof model !== 'string' || model === '') {
      throw new A2AError('invalidParams', 'metadata.model: must be the name of a model');
    }
    if (!isApiType(apiType)) {
      throw new A2AError('invalidParams', 'metadata.api_type: must be "chat" or "embeddings"');
    }
    return models.resolve(workspace, model, apiType);
  }

  async function* chat(context: ExecutionContext, target: ModelTarget, askOptions: AskOptions) {
    const { contextId, task, turn } = context;
    const before = (await earlierTurns?.(context, contextId, task.id)) ?? [];
    const messages: Content[] = [...before, ...turn.map((message) => fromA2AMessage(message))];
    let text = '';
    let held = '';
    let begun = false;
    const sent = (part: Part, lastChunk?: boolean) => {
      const event = answerChunk([part], { append: begun, ...(lastChunk && { lastChunk }) });
      begun = true;
      return event;
    };
    try {
      for await (const chunk of models.chat(target, { messages }, askOptions)) {
        if (chunk.kind === 'text') {
          text += chunk.text;
          const next = splitLast(held + chunk.text);
          held = next.held;
          if (next.now !== '') yield sent({ kind: 'text', text: next.now });
        } else if (chunk.kind === 'blob') {
          if (held !== '') yield sent({ kind: 'text', text: held });
          held = '';
          yield sent({ kind: 'file', file: { bytes: chunk.data, mimeType: chunk.mediaType } });
        } else if (chunk.kind === 'finish') {
          const usage = { usage: chunk.used };
          if (held !== '') {
            const last = sent({ kind: 'text', text: held }, true);
            held = '';
            const metadata = { ...last.artifact.metadata, ...usage };
            yield { ...last, artifact: { ...last.artifact, metadata } };
          }
          const whole = text.length > MAX_FINAL_TEXT ? TOO_LONG : text;
          const message = repeatedAnswer(whole, usage);
          yield { kind: 'status-update', state: 'completed', message } satisfies ExecutorEvent;
          return;
        }
      }
    } catch (error) {
      if (held !== '') yield sent({ kind: 'text', text: held });
      throw error;
    }
  }

  async function* embed(context: ExecutionContext, target: ModelTarget, askOptions: AskOptions) {
    const texts = textsOf(context);
    const { vectors, used } = await models.embed(target, texts, askOptions);
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
      const given = requestMetadata(context);
      const target = targetOf(caller.workspace, given);
      if (target.apiType === 'embeddings') textsOf({ turn: [context.message] });
      await models.check(caller, target, { messages: [fromA2AMessage(context.message)] });
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
      // After a restart the workspace is known, but not the key.
      const workspace = user?.id ?? '';
      const caller =
        user instanceof Caller ? user : { workspace, keyId: undefined, traceparent: undefined };
      try {
        const target = targetOf(workspace, task.metadata ?? {});
        const work = target.apiType === 'chat' ? chat : embed;
        yield* work(context, target, { caller, signal, contextId, taskId: task.id });
      } catch (error) {
        if (signal.aborted || !(error instanceof A2AError)) throw error;
        const used = error instanceof CutOff ? error.used : undefined;
        yield ended('failed', error.message, used);
      }
    },
  };
}

function isApiType(value: unknown): value is ApiType {
  return value === 'chat' || value === 'embeddings';
}

function answerChunk(
  parts: Part[],
  how: { readonly append: boolean; readonly lastChunk?: boolean },
): ArtifactEvent {
  const metadata = how.append ? undefined : { metadata: { [ONE_TEXT_KEY]: true } };
  const artifact = { artifactId: ANSWER, name: ANSWER, parts, ...metadata };
  return { kind: 'artifact-update', artifact, ...how };
}

/** Returns the last status. It contains the `usage` even if the answer was interrupted. */
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

/** Returns the texts to embed, one for each text part. */
function textsOf({ turn }: Pick<ExecutionContext, 'turn'>): string[] {
  const texts = turn
    .flatMap(({ parts }) => parts)
    .map((part) => textOf([part]))
    .filter((text) => text !== '');
  if (texts.length === 0) throw new A2AError('invalidParams', 'The message has no text to embed');
  return texts;
}
