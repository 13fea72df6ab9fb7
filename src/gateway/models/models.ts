/**
 * The models behind the gateway: what a name means, and how it is asked.
 *
 *   const models = createModels({ config, cards, spending });
 *   const target = models.resolve(caller.workspace, 'gpt-6.1-sol', 'chat');
 *   models.check(caller, target);
 *   for await (const chunk of models.chat(target, request, { caller, signal })) …
 *
 * What was used is counted here and nowhere else, once for each answer: that of the place which answered, not of those
 * that failed before. An answer that breaks off, or whose reader leaves, counts as well, because the vendor will count
 * it; where the vendor did not say how much it was, it is guessed from the length of the texts.
 */
import {
  userContent,
  type Usage,
  type FinishReason,
  type ModelChunk,
  type ModelRequest,
  ModelError,
  estimateUsage,
  cutOff,
  type VendorEnvironment,
} from '../../agent/index.ts';
import type { Logger } from '../../tasks/index.ts';
import type { Caller } from '../api/caller.ts';
import type { Spending } from '../budgets/spending.ts';
import type { Labels, Meter, Tracer } from '../telemetry/telemetry.ts';
import type { CardLookup } from '../cards/cards.ts';
import { createWatch, type Answered, type CallWatch } from './call-watch.ts';
import { createCatalogue, type Candidate, type Catalogue, type Target } from './catalogue.ts';
import type { ModelSettings } from './config.ts';
import { usedAt, type Used } from './cost.ts';
import { firstAnswer, modelError, NoAnswer, type Answering } from './failover.ts';
import { CutOff, failureOf } from './failure.ts';
import { ordered } from './order.ts';
import { createProviders, type Provider } from './provider.ts';

export type AnswerChunk =
  | Exclude<ModelChunk, { kind: 'thought' | 'finish' }>
  | { readonly kind: 'finish'; readonly reason: FinishReason; readonly used: Used };

export interface AskOptions {
  /** Whose budget it is. */
  readonly caller: Pick<Caller, 'workspace' | 'keyId' | 'traceparent'>;
  readonly signal: AbortSignal;
  /** The context of the task that it is for. */
  readonly conversation?: string | undefined;
}

export interface Models extends Catalogue {
  /** What tasks use that name no model. */
  readonly defaultModel: string;
  /** Throws when the caller's budget is spent. */
  check(caller: Pick<Caller, 'keyId'>, target: Target): void;
  /**
   * One answer; its last chunk says what it took. Throws an A2AError for the caller, in the middle too; once the signal
   * is aborted, its reason. Thoughts are not shown.
   */
  chat(target: Target, request: ModelRequest, options: AskOptions): AsyncGenerator<AnswerChunk>;
  /** Throws like `chat`. */
  embed(
    target: Target,
    texts: readonly string[],
    options: AskOptions,
  ): Promise<{ readonly vectors: readonly (readonly number[])[]; readonly used: Used }>;
  /**
   * Another configuration, from the next call on: what runs goes on where it is. Throws where the configuration leads
   * nowhere, and then nothing has changed.
   */
  use(config: ModelSettings): void;
  /** For a gauge: 1 while a provider is left alone. */
  circuits(): Iterable<readonly [Labels, number]>;
}

export interface ModelsOptions {
  readonly config: ModelSettings;
  readonly cards: CardLookup;
  readonly spending: Pick<Spending, 'check' | 'begin' | 'record'>;
  readonly logger: Logger;
  readonly meter?: Meter | undefined;
  readonly tracer?: Tracer | undefined;
  /** Where keys are looked up that the configuration does not have. `process.env`. */
  readonly env?: VendorEnvironment;
  readonly random?: (() => number) | undefined;
  /** In milliseconds, for circuits. */
  readonly now?: (() => number) | undefined;
  /** The first wait before a provider is asked again. 250 ms. */
  readonly delayMs?: number | undefined;
}

const DEADLINE_SECONDS = 15 * 60;
const DELAY_MS = 250;
const OFFLINE = 'offline';

export function createModels(options: ModelsOptions): Models {
  const { cards, spending, logger, env = process.env, random = Math.random } = options;
  const { now = Date.now, delayMs = DELAY_MS } = options;
  const watch = createWatch(options);
  let providers: ReadonlyMap<string, Provider> = new Map();
  let catalogue: Catalogue;
  let defaultModel = OFFLINE;
  let deadlineMs = DEADLINE_SECONDS * 1000;

  function use(config: ModelSettings): void {
    const made = createProviders(config.providers ?? {}, { env, now, before: providers });
    catalogue = createCatalogue(cards, config.models ?? {}, made);
    providers = made;
    defaultModel = config.defaultModel ?? OFFLINE;
    deadlineMs = (config.modelDeadlineSeconds ?? DEADLINE_SECONDS) * 1000;
  }
  use(options.config);

  /** Asks place after place within the deadline. `end` stops the clock. */
  async function ask<Answer>(
    target: Target,
    { caller, signal, conversation }: AskOptions,
    begin: (place: Candidate, call: CallWatch, signal: AbortSignal) => Promise<Answer>,
    settings?: ModelRequest,
  ): Promise<Asking<Answer>> {
    signal.throwIfAborted();
    const paid = spending.begin(caller, target.pricing);
    const { traceparent } = caller;
    const watched = watch.start(target, { traceparent, conversation, settings });
    const over = new AbortController();
    const timer = setTimeout(() => {
      const message = `no answer in ${deadlineMs} ms`;
      over.abort(new ModelError('timeout', message, { retryable: true }));
    }, deadlineMs);
    try {
      const answering = await firstAnswer({
        places: ordered(target.candidates, random),
        async begin(place, within) {
          const call = watched.call(place);
          try {
            return { answer: await begin(place, call, within), call };
          } catch (error) {
            call.end(signal.aborted ? 'canceled' : modelError(error).code);
            throw error;
          }
        },
        signal,
        within: AbortSignal.any([signal, over.signal]),
        deadline: performance.now() + deadlineMs,
        random,
        delayMs,
        onFailure(place, error, next) {
          const { name: provider } = place.provider;
          logger.warn({ err: error, provider, model: target.name, next }, 'a model gave no answer');
          watch.failure(provider, next);
        },
      });
      const { answer, call } = answering.answer;
      return {
        place: answering.place,
        answer,
        end(how, answered) {
          clearTimeout(timer);
          paid();
          answering.end(how);
          const outcome = OUTCOMES[how];
          call.end(outcome);
          watched.end(outcome, { ...answered, place: answering.place });
        },
      };
    } catch (error) {
      clearTimeout(timer);
      paid();
      watched.end(error instanceof NoAnswer ? error.error.code : 'canceled');
      if (!(error instanceof NoAnswer)) throw error;
      const { place } = error;
      const as = place && `${place.provider.name}:${place.model}`;
      throw failureOf(error.error, target.name, as);
    }
  }

  function record(target: Target, { caller }: AskOptions, used: Used): void {
    const { inputTokens, outputTokens, cost, provider } = used;
    const { workspace, keyId } = caller;
    watch.used(used);
    spending.record({
      workspace,
      keyId,
      model: target.name,
      provider,
      inputTokens,
      outputTokens,
      ...(cost && { cost }),
    });
  }

  async function* chat(
    target: Target,
    request: ModelRequest,
    asked: AskOptions,
  ): AsyncGenerator<AnswerChunk> {
    async function begin({ provider, model }: Candidate, call: CallWatch, signal: AbortSignal) {
      const chunks = provider.chat(model).generate(request, signal);
      const rest = chunks[Symbol.asyncIterator]();
      const first = await nextShown(rest, target.name);
      call.begun();
      return { first, rest };
    }
    const asking = await ask(target, asked, begin, request);
    const { place, answer } = asking;
    let chars = 0;
    let used: Used | undefined;

    /** Counts it, the first time. */
    function settle(how: How, usage?: Usage, reason?: FinishReason): Used {
      if (used !== undefined) return used;
      used = usedAt(place, usage ?? guess(request, chars), target.pricing);
      asking.end(how, { used, reason });
      record(target, asked, used);
      // Also behind the last chunk: until then the connection and its clocks are kept.
      void answer.rest.return?.().catch(() => undefined);
      return used;
    }

    try {
      for (let chunk = answer.first; ; chunk = await nextShown(answer.rest, target.name)) {
        if (chunk.kind === 'finish') {
          const { reason, usage } = chunk;
          yield { kind: 'finish', reason, used: settle('whole', usage, reason) };
          return;
        }
        chars += lengthOf(chunk);
        yield chunk;
      }
    } catch (error) {
      asked.signal.throwIfAborted();
      const broken = settle('broken');
      const { name: provider } = place.provider;
      logger.warn({ err: error, provider, model: target.name }, 'a model broke off its answer');
      throw new CutOff(target.name, broken);
    } finally {
      settle('left');
    }
  }

  const models: Omit<Models, keyof Catalogue | 'defaultModel'> = {
    check: (caller, { pricing }) => spending.check(caller, pricing),
    chat,
    async embed(target, texts, asked) {
      const { place, answer, end } = await ask(
        target,
        asked,
        ({ provider, model }, _call, signal) => provider.embeddings(model).embed(texts, signal),
      );
      const { vectors, inputTokens } = answer;
      const usage =
        inputTokens === undefined
          ? guess({ messages: [userContent(texts.join(''))] }, 0)
          : { inputTokens, outputTokens: 0 };
      const used = usedAt(place, usage, target.pricing);
      end('whole', { used });
      record(target, asked, used);
      return { vectors, used };
    },
    use,
    *circuits() {
      for (const { name, circuit } of providers.values()) {
        yield [{ provider: name }, circuit.open ? 1 : 0];
      }
    },
  };
  return {
    ...models,
    resolve: (...given) => catalogue.resolve(...given),
    list: (workspace) => catalogue.list(workspace),
    find: (workspace, name) => catalogue.find(workspace, name),
    get defaultModel() {
      return defaultModel;
    },
  };
}

type How = Parameters<Answering<unknown>['end']>[0];

/** In the numbers and the spans. */
const OUTCOMES = { whole: 'ok', broken: 'cut-off', left: 'canceled' } as const satisfies Readonly<
  Record<How, string>
>;

/** The place that answers, and how to say that it is over. Once. */
interface Asking<Answer> extends Omit<Answering<Answer>, 'end'> {
  readonly end: (how: How, answered: Omit<Answered, 'place'>) => void;
}

type Shown = Exclude<ModelChunk, { kind: 'thought' }>;

/** The next chunk that a caller sees. What was thought does not count as the beginning of an answer. */
async function nextShown(chunks: AsyncIterator<ModelChunk>, name: string): Promise<Shown> {
  for (;;) {
    const { done, value } = await chunks.next();
    if (done === true) throw cutOff(name);
    if (value.kind === 'thought' || (value.kind === 'text' && value.text === '')) continue;
    return value;
  }
}

function lengthOf(chunk: Exclude<Shown, { kind: 'finish' }>): number {
  if (chunk.kind === 'text') return chunk.text.length;
  if (chunk.kind === 'blob') return chunk.data.length;
  return chunk.name.length + JSON.stringify(chunk.args).length;
}

function guess(request: ModelRequest, chars: number): Usage & { readonly estimated: true } {
  return { ...estimateUsage(request, chars), estimated: true };
}
