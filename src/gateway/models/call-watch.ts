/** Records metrics of calls to providers, a span and a log line for each request, and a log line for each failure. */
import type { FinishReason, ModelRequest } from '../../agent/index.ts';
import type { Logger } from '../../tasks/index.ts';
import type { Caller } from '../api/caller.ts';
import { type Attribution, logFields, spanAttributes } from '../telemetry/attribution.ts';
import type { Meter, Tracer } from '../telemetry/telemetry.ts';
import {
  answerAttributes,
  GEN_AI,
  GEN_AI_OPERATIONS,
  providerName,
  requestAttributes,
} from '../../base/tracing/index.ts';
import type { Candidate, ModelTarget } from './catalogue.ts';
import type { Used } from './cost.ts';
import type { NextStep } from './failover.ts';

/** Records one call to one provider. */
export interface CallWatch {
  /** Records that the first chunk for the reader of the answer has arrived (`visible` in provider-call.ts). */
  begun(): void;
  /** Ends the record of the call. `outcome` is `ok`, `canceled` or an error code. */
  end(outcome: string): void;
}

export interface Answered {
  readonly candidate: Candidate;
  readonly used: Used;
  readonly reason?: FinishReason | undefined;
}

/** The caller and the task of a request, and the span that the request belongs to. */
export interface WatchedRequest extends Attribution {
  readonly caller: Attribution['caller'] & Pick<Caller, 'keyId' | 'traceparent'>;
}

export interface WatchOptions {
  readonly logger: Logger;
  readonly meter?: Meter | undefined;
  readonly tracer?: Tracer | undefined;
}

export function createWatch({ logger, meter, tracer }: WatchOptions) {
  return {
    /**
     * Records one request. The request has only one span, even if several providers are called for it. Settings of
     * `request` become attributes of the span.
     */
    start({ apiType, name }: ModelTarget, watched: WatchedRequest, request: ModelRequest) {
      const started = performance.now();
      const operation = GEN_AI_OPERATIONS[apiType];
      const span = tracer?.start(`${operation} ${name}`, {
        kind: 'client',
        parent: watched.caller.traceparent,
        attributes: {
          [GEN_AI.operation]: operation,
          [GEN_AI.requestModel]: name,
          ...spanAttributes(watched),
          ...requestAttributes(request),
        },
      });
      return {
        call({ provider: { name: provider, config } }: Candidate): CallWatch {
          const called = performance.now();
          const seconds = () => (performance.now() - called) / 1000;
          // Each call overwrites the attribute. So in the end, it contains the provider that was called last.
          span?.set({ [GEN_AI.provider]: providerName(config.type, provider) });
          return {
            begun() {
              meter?.observe('parley_model_first_piece_seconds', { provider }, seconds());
            },
            end(outcome) {
              const labels = { provider, operation };
              meter?.count('parley_model_calls_total', { ...labels, outcome });
              meter?.observe('parley_model_call_duration_seconds', labels, seconds());
            },
          };
        },
        /** Records that a provider failed. `next` is undefined if it failed in the middle of its answer. */
        failure(
          { provider: { name: provider } }: Candidate,
          error: unknown,
          next?: NextStep,
        ): void {
          const fields = { ...logFields(watched), err: error, provider, model: name };
          if (next) logger.warn({ ...fields, next }, 'a model did not answer');
          else logger.warn(fields, 'a model failed in the middle of its answer');
          if (next === 'again') meter?.count('parley_model_retries_total', { provider });
          if (next === 'elsewhere') meter?.count('parley_model_failovers_total', { provider });
        },
        /** Ends the record of the request. `outcome` is `ok`, `canceled` or an error code. */
        end(outcome: string, answer?: Answered): void {
          if (answer) {
            const { candidate, used, reason } = answer;
            const model = { [GEN_AI.responseModel]: candidate.model };
            span?.set({ ...model, ...answerAttributes(used, reason) });
          }
          if (outcome !== 'ok') span?.fail(outcome);
          span?.end();
          const { inputTokens, outputTokens, cost, provider } = answer?.used ?? {};
          const used = answer && { provider, inputTokens, outputTokens, ...(cost && { cost }) };
          const ms = Math.round(performance.now() - started);
          logger.info({ ...logFields(watched), model: name, outcome, ms, ...used }, 'model call');
        },
      };
    },
    used({ provider, inputTokens, outputTokens, cost }: Used): void {
      meter?.count('parley_model_tokens_total', { provider, direction: 'input' }, inputTokens);
      meter?.count('parley_model_tokens_total', { provider, direction: 'output' }, outputTokens);
      if (cost) {
        const labels = { provider, currency: cost.currency };
        meter?.count('parley_model_cost_total', labels, cost.amount);
      }
    },
  };
}
