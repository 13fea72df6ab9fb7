/**
 * The models of the gateway. This file resolves names, calls providers, and counts usage.
 *
 *   const models = createModels({ config, cards, spending, logger });
 *   const target = await models.resolve(caller.workspace, 'gpt-6.1-sol', 'chat');
 *   for await (const chunk of models.chat(target, request, { caller, signal })) …
 *
 * The usage of models is counted only here, once per request. It is counted for the candidate that answered (a
 * provider, with its name for the model). If the caller leaves before an answer has begun, the usage is counted for the
 * candidate that was being called. Before the call, tokens for the prompt and the answer are reserved in the caller's
 * budgets. The amount that is left in the budgets limits the length of the answer. An incomplete answer is counted too,
 * because the vendor charges for it. If the vendor does not report the usage, the gateway estimates it
 * (token-tally.ts).
 */
import {
  userContent,
  type Content,
  type Usage,
  type FinishReason,
  type ModelRequest,
  ModelError,
  type VendorEnvironment,
} from '../../agent/index.ts';
import type { Relay } from './relay/relay.ts';
import { type MaybePromise, raceAbort } from '../../base/index.ts';
import type { Reservation, Spending } from '../budgets/spending.ts';
import type { PlannedCall } from '../budgets/calls.ts';
import type { Labels } from '../telemetry/telemetry.ts';
import type { CardLookup } from '../cards/cards.ts';
import { admitted } from './admission.ts';
import {
  asStreamed,
  isContent,
  isSaid,
  type AnswerChunk,
  type RelayedChunk,
  type SourceChunk,
} from './chunks.ts';
import {
  createWatch,
  type Answered,
  type CallWatch,
  type WatchedRequest,
  type WatchOptions,
} from './call-watch.ts';
import { type OtherNodes, readNews } from './circuit-news.ts';
import { createCatalogue, type Candidate, type Catalogue, type ModelTarget } from './catalogue.ts';
import type { ModelSettings } from './config.ts';
import { usedAt, type Used } from './cost.ts';
import { firstAnswer, modelError, NoAnswer, type Answering } from './failover.ts';
import { CutOff, failureOf } from './failure.ts';
import { impliedDefaultModel, OFFLINE } from './implied.ts';
import { createLeftAnswers } from './left-answers.ts';
import { ordered } from './order.ts';
import { promptOf } from './prompt-count.ts';
import {
  callProvider,
  countedAnswer,
  type CountedAnswer,
  type ProviderCall,
} from './provider-call.ts';
import { createProviders, type Provider } from './provider.ts';
import type { Estimate } from './token-tally.ts';
import { tokenCounter } from './token-count.ts';

/**
 * The options of a request to a model. They contain the caller, who is charged, and the context and the task, which
 * appear in usage, spans and the log. The request is also charged to the task's own budget, if the task has one.
 */
export interface AskOptions extends WatchedRequest {
  readonly signal: AbortSignal;
  /** True if the vendor does not charge for the call. Such a call needs no budget, and its usage is not stored. */
  readonly free?: boolean | undefined;
}

export interface AnswerOptions extends AskOptions {
  readonly relay?: Relay | undefined;
  /** Whether the client's own request has tools. Default: whether the converted request has tools. */
  readonly hasTools?: boolean | undefined;
}

export interface Models extends Catalogue {
  /** The model for tasks that do not specify a model. */
  readonly defaultModel: string;
  /**
   * Rejects if the model does not support the request (admission.ts), or if the caller's budgets have no room for it.
   * `chat`, `answer` and `embed` make the same checks. `check` makes them earlier, before a task is accepted.
   */
  check(caller: AskOptions['caller'], target: ModelTarget, request: ModelRequest): Promise<void>;
  /**
   * Streams one answer, without thoughts. The last chunk, `finish`, has the usage. If the request is refused or the
   * model fails, throws an A2AError with a message for the caller. A failure may come after some chunks. If the signal
   * is aborted, throws its reason.
   */
  chat(
    target: ModelTarget,
    request: ModelRequest,
    options: AskOptions,
  ): AsyncGenerator<AnswerChunk>;
  /**
   * Streams one answer like `chat`, but with the model's thoughts. Resolves when the answer has begun. A provider that
   * accepts the format of `relay` gets the client's own request. The provider's answer is then returned in that format,
   * as raw chunks. Other providers get `request`.
   */
  answer(target: ModelTarget, request: ModelRequest, options: AnswerOptions): Promise<AnswerStream>;
  /** Computes the embeddings of the texts. Throws the same errors as `chat`. */
  embed(
    target: ModelTarget,
    texts: readonly string[],
    options: AskOptions & { readonly dimensions?: number | undefined },
  ): Promise<{ readonly vectors: readonly (readonly number[])[]; readonly used: Used }>;
  /**
   * Changes the configuration for the next calls. Calls in progress are not affected. If the configuration is invalid,
   * throws and changes nothing.
   */
  use(config: ModelSettings): void;
  /** Ends the answers whose callers have left. Resolves when their usage is counted. */
  close(): Promise<void>;
  /** Returns the values of a gauge: 1 for a provider with an open circuit, otherwise 0. */
  circuits(): Iterable<readonly [Labels, number]>;
}

/** An answer that has begun. The caller must read it to its end, or call `leave`. */
export interface AnswerStream {
  /** Whether all chunks before `finish` are raw. */
  readonly isRelayed: boolean;
  readonly chunks: AsyncIterableIterator<RelayedChunk>;
  /** Stops reading the answer before it is complete. */
  readonly leave: () => void;
}

export interface ModelsOptions extends WatchOptions {
  readonly config: ModelSettings;
  readonly cards: CardLookup;
  readonly spending: Pick<Spending, 'check' | 'reserve'>;
  /**
   * The environment variables with API keys and addresses that are not in the configuration. Default: `process.env`.
   */
  readonly env?: VendorEnvironment;
  readonly random?: (() => number) | undefined;
  /** The clock of the circuit breakers and slots, in milliseconds. Default: `Date.now`. */
  readonly now?: (() => number) | undefined;
  /** The connection to the other gateways with the same providers. */
  readonly otherNodes?: OtherNodes | undefined;
  /** The delay before the first retry, in milliseconds. Default: 250. */
  readonly delayMs?: number | undefined;
}

const DEADLINE_SECONDS = 15 * 60;
const DELAY_MS = 250;
const NO_USAGE: Usage = { inputTokens: 0, outputTokens: 0 };
const FREE: Reservation = { maxOutputTokens: undefined, settle() {}, release() {} };

export function createModels(options: ModelsOptions): Models {
  const { cards, spending, env = process.env, random = Math.random } = options;
  const { now = Date.now, delayMs = DELAY_MS, otherNodes } = options;
  const watch = createWatch(options);
  const left = createLeftAnswers();
  let providers: ReadonlyMap<string, Provider> = new Map();
  let catalogue: Catalogue;
  let defaultModel = OFFLINE;
  let deadlineMs = DEADLINE_SECONDS * 1000;

  function use(config: ModelSettings): void {
    const state = { env, now, before: providers, otherNodes };
    const made = createProviders(config.providers ?? {}, state);
    catalogue = createCatalogue(cards, config.models ?? {}, made);
    providers = made;
    defaultModel = config.defaultModel ?? impliedDefaultModel(config.providers) ?? OFFLINE;
    deadlineMs = (config.modelDeadlineSeconds ?? DEADLINE_SECONDS) * 1000;
  }
  use(options.config);
  otherNodes?.onTold((text) => {
    const news = readNews(text);
    if (news) providers.get(news.provider)?.circuits.hear(news);
  });

  /**
   * Reserves usage in the budgets, and tries the candidates until one answers. If all candidates fail, or if the
   * deadline passes first, throws the error for the caller. If the signal is aborted, throws its reason.
   */
  async function ask<Begun>(
    target: ModelTarget,
    askOptions: AnswerOptions,
    request: ModelRequest,
    begin: (
      candidate: Candidate,
      call: CallWatch,
      signal: AbortSignal,
      request: ModelRequest,
    ) => Promise<Begun>,
    /**
     * Called if the caller leaves while a candidate is being called and has not answered yet. The function must call
     * `settle` once, now or later.
     */
    onLeft = (settle: (usage: Usage) => void) =>
      settle(estimated(target, request, askOptions.relay)),
  ) {
    const { caller, signal, free = false } = askOptions;
    signal.throwIfAborted();
    const reservation = free ? FREE : await spending.reserve(planned(target, request, askOptions));
    const { maxOutputTokens } = reservation;
    const limited = maxOutputTokens === undefined ? request : { ...request, maxOutputTokens };
    const watched = watch.start(target, askOptions, limited);
    /**
     * The candidate that was called last. Undefined if there was no call, or if the last call failed while the caller
     * was still there.
     */
    let called: Candidate | undefined;
    const over = new AbortController();
    const timer = setTimeout(() => {
      const message = `the answer was not complete within ${deadlineMs} ms`;
      over.abort(new ModelError('timeout', message, { retryable: true }));
    }, deadlineMs);
    try {
      const answering = await firstAnswer({
        candidates: ordered(target.candidates, random),
        workspace: caller.workspace,
        async begin(candidate, within) {
          const call = watched.call(candidate);
          called = candidate;
          try {
            return { answer: await begin(candidate, call, within, limited), call };
          } catch (error) {
            if (!signal.aborted) called = undefined;
            call.end(signal.aborted ? 'canceled' : modelError(error).code);
            throw error;
          }
        },
        signal,
        within: AbortSignal.any([signal, over.signal]),
        deadline: performance.now() + deadlineMs,
        random,
        delayMs,
        onFailure: (...failed) => watched.failure(...failed),
      });
      const { answer, call } = answering.answer;
      return {
        candidate: answering.candidate,
        answer,
        /** Records that the model failed in the middle of its answer. */
        failed: (error: unknown) => watched.failure(answering.candidate, error),
        /** Records how many tokens of the answer have arrived. Undefined if nothing is reserved. */
        seen: reservation.seen && ((tokens: number) => reservation.seen?.(tokens)),
        /** Must be called once, when the answer has ended. Stops the timer and ends the reservation. */
        end: (how: Ending, answered: Omit<Answered, 'candidate'>): void => {
          clearTimeout(timer);
          answering.end(how);
          const outcome = OUTCOMES[how];
          call.end(outcome);
          watch.used(answered.used);
          reservation.settle({ ...answered.used, failed: how === 'broken' });
          watched.end(outcome, { ...answered, candidate: answering.candidate });
        },
      };
    } catch (error) {
      clearTimeout(timer);
      // A vendor charges for the prompt even if the caller aborts before the answer starts.
      const failed = error instanceof NoAnswer;
      if (called !== undefined) {
        const candidate = called;
        onLeft((usage) => {
          const used = usedAt(candidate, usage, target.pricing);
          watch.used(used);
          reservation.settle({ ...used, failed });
        });
      } else if (failed) {
        const { pricing } = target;
        const cost = pricing && { amount: 0, currency: pricing.currency };
        reservation.settle({ ...NO_USAGE, cost, failed });
      } else reservation.release();
      watched.end(failed ? error.error.code : 'canceled');
      if (!(error instanceof NoAnswer)) throw error;
      const { candidate } = error;
      const as = candidate && `${candidate.provider.name}:${candidate.model}`;
      throw failureOf(error.error, target.name, as);
    }
  }

  async function answer(
    named: ModelTarget,
    given: ModelRequest,
    askOptions: AnswerOptions,
    visible = isContent,
  ): Promise<CountedAnswer> {
    const { relay, free = false, signal } = askOptions;
    const { target, request } = free
      ? { target: named, request: given }
      : admitted(named, given, askOptions);
    const counter = tokenCounter(target.candidates);
    const prompt = () => promptOf(target, request, relay);
    /** The last call to a provider. */
    let call: ProviderCall | undefined;

    async function begin(
      candidate: Candidate,
      watched: CallWatch,
      within: AbortSignal,
      limited: ModelRequest,
    ) {
      const options = { name: target.name, relay, counter, visible };
      const begun = (call = callProvider(candidate, limited, options));
      // If the caller has left, the call is not stopped here, because readOn may read the rest of the answer.
      const onAbort = () => signal.aborted || begun.stop(within.reason);
      within.addEventListener('abort', onAbort);
      // The listener must be removed. Otherwise Node.js keeps `within` and everything that the listener refers to.
      const forget = () => within.removeEventListener('abort', onAbort);
      try {
        const first = await raceAbort(begun.first, within);
        watched.begun();
        const stop = (reason: unknown) => (forget(), begun.stop(reason));
        return { ...begun, first, stop };
      } catch (error) {
        forget();
        if (!signal.aborted) begun.stop(error);
        throw error;
      }
    }

    /**
     * Ends an answer whose caller has left. First reads the rest of the answer, for at most `usageWaitMs`, to learn the
     * usage. The rest is not read if the provider's models have no hidden thoughts, if the call is free, or if the
     * provider limits concurrent calls.
     */
    function readOn(
      { candidate, tally, maxOutputTokens, stop, next }: Omit<ProviderCall, 'first'>,
      unread: MaybePromise<SourceChunk> | undefined,
      settle: (usage: Usage) => void,
    ): void {
      const { type, usageWaitMs, maxConcurrent } = candidate.provider.config;
      const hidden = !NEVER_HIDES.has(type);
      // If the number of concurrent calls is limited, other callers need the slot.
      const reads = hidden && !free && maxConcurrent === undefined;
      let hasBegun = !(unread instanceof Promise);
      left.take({
        ms: reads ? usageWaitMs : 0,
        async next() {
          const first = unread;
          unread = undefined;
          const chunk = await (first ?? next());
          hasBegun = true;
          return chunk;
        },
        stop: () => stop(new Error('the caller has left')),
        end(usage, isBroken) {
          // If the provider has failed, the usage is the same as for a caller who stays: nothing if the answer had not
          // begun, otherwise an estimate without hidden thoughts.
          if (usage) settle(usage);
          else if (isBroken) settle(hasBegun ? tally.estimate(prompt) : NO_USAGE);
          else settle(tally.estimate(prompt, { hidden, maxOutputTokens }));
        },
      });
    }

    const asking = await ask(target, askOptions, request, begin, (settle) => {
      if (!call) return settle(estimated(target, request, relay));
      readOn(call, call.first, settle);
    });
    const { candidate, answer: begun } = asking;
    const { tally, stop } = begun;

    function settle(how: Ending, usage: Usage, reason?: FinishReason): Used {
      const used = usedAt(candidate, usage, target.pricing);
      asking.end(how, { used, reason });
      // `stop` is needed even after the last chunk, because it releases the connection and its timers.
      stop(new Error('the answer has ended'));
      return used;
    }

    return countedAnswer(begun, begun.first, {
      name: target.name,
      signal,
      visible,
      seen: asking.seen,
      finished: (usage, reason) => settle('whole', usage ?? tally.estimate(prompt), reason),
      failed(error) {
        const broken = settle('broken', tally.estimate(prompt));
        asking.failed(error);
        return new CutOff(target.name, broken);
      },
      left: (unread) => readOn(begun, unread, (usage) => settle('left', usage)),
    });
  }

  async function* chat(
    target: ModelTarget,
    request: ModelRequest,
    askOptions: AskOptions,
  ): AsyncGenerator<AnswerChunk> {
    const chunks = await answer(target, request, askOptions, isSaid);
    for await (const chunk of asStreamed(target, chunks)) {
      if (chunk.kind !== 'thought' && chunk.kind !== 'raw') yield chunk;
    }
  }

  return {
    async check(caller, named, given) {
      const isChat = named.apiType === 'chat';
      if (!isChat) checkTexts(named, given.messages);
      const { target, request } = isChat
        ? admitted(named, given)
        : { target: named, request: given };
      await spending.check(planned(target, request, { caller }));
    },
    chat,
    async answer(target, request, askOptions) {
      const own = await answer(target, request, askOptions);
      const { isRelayed } = own;
      return { isRelayed, chunks: asStreamed(target, own), leave: () => void own.return() };
    },
    async embed(target, texts, askOptions) {
      const contents = texts.map((text) => userContent(text));
      checkTexts(target, contents);
      const request = { messages: [userContent(texts.join(' '))], maxOutputTokens: 0 };
      const { candidate, answer, end } = await ask(
        target,
        askOptions,
        request,
        ({ provider, model }, _call, signal) =>
          provider.embeddings(model).embed(texts, signal, askOptions.dimensions),
      );
      const { vectors, inputTokens } = answer;
      const usage =
        inputTokens === undefined ? estimated(target, request) : { inputTokens, outputTokens: 0 };
      const used = usedAt(candidate, usage, target.pricing);
      end('whole', { used });
      return { vectors, used };
    },
    use,
    close: () => left.close(),
    *circuits() {
      for (const { name, circuits } of providers.values()) {
        yield [{ provider: name }, circuits.open ? 1 : 0];
      }
    },
    resolve: (...given) => catalogue.resolve(...given),
    list: (workspace) => catalogue.list(workspace),
    find: (workspace, name) => catalogue.find(workspace, name),
    get defaultModel() {
      return defaultModel;
    },
  };
}

/** Throws if one of the texts is too long for the model. The context window limits each text separately. */
function checkTexts(target: ModelTarget, texts: readonly Content[]): void {
  for (const text of texts) admitted(target, { messages: [text] });
}

/** The types of providers whose models have no hidden thoughts. */
const NEVER_HIDES: ReadonlySet<string> = new Set(['offline', 'scripted']);

type Ending = Parameters<Answering<unknown>['end']>[0];

/** The names of the outcomes in metrics and spans. */
const OUTCOMES = { whole: 'ok', broken: 'cut-off', left: 'canceled' } as const satisfies Readonly<
  Record<Ending, string>
>;

/** Returns the planned call, for which usage is reserved in the budgets. */
function planned(
  target: ModelTarget,
  request: ModelRequest,
  { caller, contextId, taskId, relay }: WatchedRequest & Pick<AnswerOptions, 'relay'>,
): PlannedCall {
  return {
    model: target.name,
    pricing: target.pricing,
    prompt: () => promptOf(target, request, relay),
    maxOutputTokens: request.maxOutputTokens,
    caller,
    contextId,
    taskId,
  };
}

/**
 * Estimates the usage of a call that has no output: embeddings, or a call whose caller left before the answer began.
 */
function estimated(target: ModelTarget, request: ModelRequest, relay?: Relay): Estimate {
  return { inputTokens: promptOf(target, request, relay), outputTokens: 0, estimated: true };
}
