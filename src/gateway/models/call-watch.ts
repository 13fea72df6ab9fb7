/** Numbers and spans of the calls of providers. */
import type { Meter, Tracer } from '../services.ts';
import { GEN_AI, GEN_AI_OPERATIONS } from '../operation/gen-ai.ts';
import type { Candidate, Target } from './catalogue.ts';
import type { Used } from './cost.ts';

/** One call of one provider. */
export interface CallWatch {
  /** The first piece of the answer is there. */
  begun(): void;
  /** `ok`, or a word for what went wrong. */
  end(outcome: string, used?: Used): void;
}

export interface Calls {
  start(target: Target, place: Candidate, traceparent: string | undefined): CallWatch;
  failure(provider: string, next: 'again' | 'elsewhere' | 'nothing'): void;
  used(used: Used): void;
}

/** As the conventions call them; other providers go by the name that the operator gave them. */
const VENDOR_NAMES: Readonly<Record<string, string>> = {
  openai: 'openai',
  anthropic: 'anthropic',
  google: 'gcp.gemini',
};

export function createCalls({
  meter,
  tracer,
}: {
  readonly meter?: Meter | undefined;
  readonly tracer?: Tracer | undefined;
}): Calls {
  return {
    start({ apiType }, { provider: { name: provider, config }, model }, parent) {
      const operation = GEN_AI_OPERATIONS[apiType];
      const span = tracer?.start(`${operation} ${model}`, {
        kind: 'client',
        parent,
        attributes: {
          [GEN_AI.operation]: operation,
          [GEN_AI.provider]: VENDOR_NAMES[config.type] ?? provider,
          [GEN_AI.requestModel]: model,
        },
      });
      const started = performance.now();
      const seconds = () => (performance.now() - started) / 1000;
      return {
        begun() {
          meter?.observe('parley_model_first_piece_seconds', { provider }, seconds());
        },
        end(outcome, used) {
          meter?.count('parley_model_calls_total', { provider, operation, outcome });
          meter?.observe('parley_model_call_duration_seconds', { provider, operation }, seconds());
          if (used) {
            span?.set({
              [GEN_AI.inputTokens]: used.inputTokens,
              [GEN_AI.outputTokens]: used.outputTokens,
              ...(used.cachedTokens !== undefined && {
                [GEN_AI.cachedInputTokens]: used.cachedTokens,
              }),
            });
          }
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
