/**
 * Sends one request to a model, and calls the hooks before and after the request. A hook can also give the answer
 * instead of the model. Yields texts, thoughts and files as they arrive, and then the complete answer as one event.
 */
import { defined, type JsonObject } from '../../base/index.ts';
import type { ContentPart } from '../content.ts';
import type { Actions, Event, Usage } from '../event.ts';
import {
  ModelError,
  type FinishReason,
  type Model,
  type ModelChunk,
  type ModelRequest,
} from '../model.ts';
import type { ModelAnswer } from '../plugin.ts';
import { firstResult, type RunScope } from '../run/run-context.ts';
import { generate } from '../spans.ts';
import { messageOf } from '../tool-result.ts';

/** Maximum size of an answer, in characters. The size includes text, thoughts, base64 and calls. */
const MAX_ANSWER = 32 * 2 ** 20;
const MAX_CALLS = 128;
/** Maximum number of chunks of an answer, including empty chunks. */
const MAX_CHUNKS = 2_000_000;

export interface ModelCall {
  readonly scope: RunScope;
  readonly model: Model;
  readonly request: ModelRequest;
  /** Returns the actions for the answer's event, and data about its calls. */
  readonly complete: (answer: ModelAnswer) => CompletedAnswer;
}

export interface CompletedAnswer {
  readonly actions: Actions;
  /** The ids of the calls of long-running tools. These calls stay open until their response arrives. */
  readonly longRunning: readonly string[];
  /** The ids of the calls of sequential tools. */
  readonly sequential: readonly string[];
}

export async function* callModel(call: ModelCall): AsyncGenerator<Event> {
  const { scope, model, complete } = call;
  const { hooks } = scope;
  const piece = scope.event({ partial: true, metadata: { model: model.name } });
  let { request } = call;
  let answer: ModelAnswer | undefined;

  const decided = await firstResult(hooks, 'beforeModel', (hook) =>
    hook(request, scope.hookContext),
  );
  if (decided && 'answer' in decided) ({ answer } = decided);
  else if (decided) ({ request } = decided);

  if (!answer) {
    scope.inner.countStep();
    const whole = new WholeAnswer(model.name);
    try {
      for await (const chunk of generate(model, request, scope.signal)) {
        const part = whole.add(chunk);
        if (part) yield { ...piece, content: { role: 'model', parts: [part] } };
      }
      answer = whole.answer();
    } catch (error) {
      if (scope.signal.aborted) throw error;
      const failure = error instanceof Error ? error : new ModelError('failed', String(error));
      answer = await firstResult(hooks, 'onModelError', (hook) =>
        hook(failure, request, scope.hookContext),
      );
      if (!answer) {
        if (failure instanceof ModelError) throw failure;
        throw new ModelError('failed', `${model.name} failed: ${messageOf(error)}`, {
          cause: error,
        });
      }
    }
  }

  const given = answer;
  const other = await firstResult(hooks, 'afterModel', (hook) => hook(given, scope.hookContext));
  answer = other ?? given;
  const parts = answer.content.parts.map((part) =>
    part.kind === 'function-call' ? { ...part, id: scope.inner.callIdFor(part.id) } : part,
  );
  const content = { role: 'model', parts } as const;
  const { actions, longRunning, sequential } = complete({ ...answer, content });
  const { usage, finishReason } = answer;
  const event = scope.event({
    content,
    ...defined({ usage }),
    ...(longRunning.length > 0 && { longRunningToolIds: longRunning }),
    metadata: {
      model: model.name,
      ...defined({ finishReason }),
      ...(sequential.length > 0 && { sequential: [...sequential] }),
    },
    actions,
  });
  // The complete answer has the same id as its chunks, so that readers can match the answer with the chunks.
  yield { ...event, id: piece.id };
}

class WholeAnswer {
  readonly #model: string;
  readonly #parts: ContentPart[] = [];
  #size = 0;
  #calls = 0;
  #chunks = 0;
  #finish: { reason: FinishReason; usage?: Usage } | undefined;
  /** The text or thought whose chunks are currently arriving. */
  #open:
    | { kind: 'text' | 'thought'; pieces: string[]; provider: JsonObject | undefined }
    | undefined;

  constructor(model: string) {
    this.#model = model;
  }

  /** Adds a chunk. Returns the part to show, or undefined if there is nothing to show. */
  add(chunk: ModelChunk): ContentPart | undefined {
    if (this.#finish)
      throw new ModelError('failed', `${this.#model} sent data after the end of its answer`);
    if (chunk.kind === 'finish') {
      this.#finish = chunk;
      return undefined;
    }
    this.#count(chunk);
    const { provider } = chunk;
    if (chunk.kind === 'text' || chunk.kind === 'thought') {
      // The vendor's data for a text part comes with the last chunk of the part, so the next chunk begins a new part.
      if (this.#open?.kind !== chunk.kind || this.#open.provider) this.#close();
      this.#open ??= { kind: chunk.kind, pieces: [], provider: undefined };
      if (chunk.text !== '') this.#open.pieces.push(chunk.text);
      this.#open.provider = provider;
      return chunk.text === '' ? undefined : { kind: chunk.kind, text: chunk.text };
    }
    this.#close();
    this.#parts.push(chunk);
    return chunk.kind === 'blob' ? chunk : undefined;
  }

  answer(): ModelAnswer {
    this.#close();
    if (!this.#finish) {
      throw new ModelError('cut-off', `the answer of ${this.#model} was interrupted: try again`);
    }
    const { reason, usage } = this.#finish;
    if (reason === 'content-filter' && this.#parts.length === 0) {
      throw new ModelError('refused', `${this.#model} refused to answer: rephrase the request`);
    }
    const content = { role: 'model', parts: this.#parts } as const;
    return { content, finishReason: reason, ...defined({ usage }) };
  }

  #count(chunk: Exclude<ModelChunk, { kind: 'finish' }>): void {
    this.#chunks++;
    if (chunk.kind === 'function-call') {
      const { name, args } = chunk;
      if (typeof args !== 'object' || args === null || Array.isArray(args)) {
        throw new ModelError(
          'failed',
          `${this.#model} called a tool with arguments that are not an object`,
        );
      }
      this.#calls++;
      this.#size += name.length + JSON.stringify(args).length;
    } else {
      this.#size += chunk.kind === 'blob' ? chunk.data.length : chunk.text.length;
    }
    if (this.#size > MAX_ANSWER || this.#calls > MAX_CALLS || this.#chunks > MAX_CHUNKS) {
      throw new ModelError('failed', `the answer of ${this.#model} is too large`);
    }
  }

  #close(): void {
    if (!this.#open) return;
    const { kind, pieces, provider } = this.#open;
    this.#open = undefined;
    const text = pieces.join('');
    if (text === '' && !provider) return;
    this.#parts.push({ kind, text, ...(provider && { provider }) });
  }
}
