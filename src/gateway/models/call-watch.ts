/** Numbers of the calls of providers, and spans of the requests that they are made for. */
import type { FinishReason, ModelRequest } from '../../agent/index.ts';
import type { Attributes, Meter, Tracer } from '../telemetry/telemetry.ts';
import { GEN_AI, GEN_AI_OPERATIONS } from '../telemetry/gen-ai.ts';
import type { Candidate, Target } from './catalogue.ts';
import type { Used } from './cost.ts';

/** One request, whoever answers it in the end: one span, whatever is tried for it. */
export interface RequestWatch {
  call(place: Candidate): CallWatch;
  /** `ok`, or a word for what went wrong. */
  end(outcome: string, answer?: Answered): void;
}

/** One call of one provider. */
export interface CallWatch {
  /** The first piece of the answer is there. */
  begun(): void;
  /** The same words as for the request. */
  end(outcome: string): void;
}

export interface Answered {
  readonly place: Candidate;
  readonly used: Used;
  readonly reason?: FinishReason | undefined;
}

export interface Asked {
  readonly traceparent: string | undefined;
  /** The context of the task that it is for. */
  readonly conversation?: string | undefined;
  /** What of it is worth a note. */
  readonly settings?: Pick<ModelRequest, 'maxOutputTokens' | 'temperature'> | undefined;
}

export interface Watch {
  start(target: Target, asked: Asked): RequestWatch;
  failure(provider: string, next: 'again' | 'elsewhere' | 'nothing'): void;
  used(used: Used): void;
}

/** As the conventions call them; other providers go by the name that the operator gave them. */
const VENDOR_NAMES: Readonly<Record<string, string>> = {
  openai: 'openai',
  anthropic: 'anthropic',
  google: 'gcp.gemini',
};

export function createWatch({
  meter,
  tracer,
}: {
  readonly meter?: Meter | undefined;
  readonly tracer?: Tracer | undefined;
}): Watch {
  function callOf(operation: string, { provider: { name: provider } }: Candidate): CallWatch {
    const started = performance.now();
    const seconds = () => (performance.now() - started) / 1000;
    return {
      begun() {
        meter?.observe('parley_model_first_piece_seconds', { provider }, seconds());
      },
      end(outcome) {
        meter?.count('parley_model_calls_total', { provider, operation, outcome });
        meter?.observe('parley_model_call_duration_seconds', { provider, operation }, seconds());
      },
    };
  }

  return {
    start({ apiType, name }, { traceparent, conversation, settings = {} }) {
      const operation = GEN_AI_OPERATIONS[apiType];
      const { maxOutputTokens, temperature } = settings;
      const span = tracer?.start(`${operation} ${name}`, {
        kind: 'client',
        parent: traceparent,
        attributes: {
          [GEN_AI.operation]: operation,
          [GEN_AI.requestModel]: name,
          ...(conversation !== undefined && { [GEN_AI.conversation]: conversation }),
          ...(maxOutputTokens !== undefined && { [GEN_AI.maxTokens]: maxOutputTokens }),
          ...(temperature !== undefined && { [GEN_AI.temperature]: temperature }),
        },
      });
      return {
        call(place) {
          const { name: provider, config } = place.provider;
          // The last one that was called is the one that answered.
          span?.set({ [GEN_AI.provider]: VENDOR_NAMES[config.type] ?? provider });
          return callOf(operation, place);
        },
        end(outcome, answer) {
          if (answer) span?.set(attributesOf(answer));
          if (outcome !== 'ok') span?.fail(outcome);
          span?.end();
        },
      };
    },
    failure(provider, next) {
      if (next === 'again') meter?.count('parley_model_retries_total', { provider });
      if (next === 'elsewhere') meter?.count('parley_model_failovers_total', { provider });
    },
    used({ provider, inputTokens, outputTokens, cost }) {
      meter?.count('parley_model_tokens_total', { provider, direction: 'input' }, inputTokens);
      meter?.count('parley_model_tokens_total', { provider, direction: 'output' }, outputTokens);
      if (cost) {
        const labels = { provider, currency: cost.currency };
        meter?.count('parley_model_cost_total', labels, cost.amount);
      }
    },
  };
}

function attributesOf({ place, used, reason }: Answered): Attributes {
  const { inputTokens, outputTokens, cachedTokens, thoughtTokens } = used;
  return {
    [GEN_AI.responseModel]: place.model,
    [GEN_AI.inputTokens]: inputTokens,
    [GEN_AI.outputTokens]: outputTokens,
    ...(cachedTokens !== undefined && { [GEN_AI.cachedInputTokens]: cachedTokens }),
    ...(thoughtTokens !== undefined && { [GEN_AI.thoughtTokens]: thoughtTokens }),
    ...(reason !== undefined && { [GEN_AI.finishReasons]: [reason.replace('-', '_')] }),
  };
}
