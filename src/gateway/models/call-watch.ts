/** Records metrics of provider calls, and one span and one log line for each request. */
import type { FinishReason, ModelRequest } from '../../agent/index.ts';
import type { Logger } from '../../tasks/index.ts';
import { type Attribution, logFields, spanAttributes } from '../telemetry/attribution.ts';
import type { Attributes, Meter, Tracer } from '../telemetry/telemetry.ts';
import {
  answerAttributes,
  GEN_AI,
  GEN_AI_OPERATIONS,
  providerName,
  requestAttributes,
} from '../../base/tracing/index.ts';
import type { Candidate, ModelTarget } from './catalogue.ts';
import type { Used } from './cost.ts';

/** Records one request. The request has only one span, even if several providers are called for it. */
export interface RequestWatch {
  call(candidate: Candidate): CallWatch;
  /** Ends the record of the request. `outcome` is `ok` or an error code. */
  end(outcome: string, answer?: Answered): void;
}

/** Records one call to one provider. */
export interface CallWatch {
  /** Records that the first chunk of the answer has arrived. */
  begun(): void;
  /** Ends the record of the call. `outcome` is `ok` or an error code. */
  end(outcome: string): void;
}

export interface Answered {
  readonly candidate: Candidate;
  readonly used: Used;
  readonly reason?: FinishReason | undefined;
}

export interface RequestDetails {
  readonly traceparent: string | undefined;
  /** The caller and the task, for the span and the log line. */
  readonly attribution: Attribution;
  /** Settings of the request that become attributes of the span. */
  readonly settings?: Pick<ModelRequest, 'maxOutputTokens' | 'temperature'> | undefined;
}

export interface Watch {
  start(target: ModelTarget, details: RequestDetails): RequestWatch;
  failure(provider: string, next: 'again' | 'elsewhere' | 'nothing'): void;
  used(used: Used): void;
}

export function createWatch({
  logger,
  meter,
  tracer,
}: {
  readonly logger: Logger;
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
    start({ apiType, name }, { traceparent, attribution, settings = {} }) {
      const started = performance.now();
      const operation = GEN_AI_OPERATIONS[apiType];
      const span = tracer?.start(`${operation} ${name}`, {
        kind: 'client',
        parent: traceparent,
        attributes: {
          [GEN_AI.operation]: operation,
          [GEN_AI.requestModel]: name,
          ...spanAttributes(attribution),
          ...requestAttributes(settings),
        },
      });
      return {
        call(candidate) {
          const { name: provider, config } = candidate.provider;
          // Each call overwrites the attribute. So in the end, it contains the provider that answered.
          span?.set({ [GEN_AI.provider]: providerName(config.type, provider) });
          return callOf(operation, candidate);
        },
        end(outcome, answer) {
          if (answer) span?.set(attributesOf(answer));
          if (outcome !== 'ok') span?.fail(outcome);
          span?.end();
          const { inputTokens, outputTokens, cost, provider } = answer?.used ?? {};
          const used = answer && { provider, inputTokens, outputTokens, ...(cost && { cost }) };
          const ms = Math.round(performance.now() - started);
          logger.info(
            { ...logFields(attribution), model: name, outcome, ms, ...used },
            'model call',
          );
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

function attributesOf({ candidate, used, reason }: Answered): Attributes {
  return { [GEN_AI.responseModel]: candidate.model, ...answerAttributes(used, reason) };
}
