import { defined } from '../json.ts';
import type { Attributes } from './span.ts';

/**
 * Attribute names of OpenTelemetry's semantic conventions for generative AI. Attributes never contain the content of
 * messages.
 *
 * A span covers one request of a caller, with all attempts to serve it. The name of a span is the operation, followed
 * by the name of the model, agent or tool.
 */
export const GEN_AI = {
  /** One of GEN_AI_OPERATIONS. */
  operation: 'gen_ai.operation.name',
  /** `openai`, `anthropic`, `gcp.gemini`, or the name of the configured provider. For agents: `a2a`. */
  provider: 'gen_ai.provider.name',
  /** The caller's name for the model. */
  requestModel: 'gen_ai.request.model',
  /** The provider's name for the model. */
  responseModel: 'gen_ai.response.model',
  finishReasons: 'gen_ai.response.finish_reasons',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cachedInputTokens: 'gen_ai.usage.cache_read.input_tokens',
  thoughtTokens: 'gen_ai.usage.reasoning.output_tokens',
  /** The context id of the task. */
  conversation: 'gen_ai.conversation.id',
  agentName: 'gen_ai.agent.name',
  toolName: 'gen_ai.tool.name',
  toolCall: 'gen_ai.tool.call.id',
  toolType: 'gen_ai.tool.type',
  maxTokens: 'gen_ai.request.max_tokens',
  temperature: 'gen_ai.request.temperature',
} as const;

export const GEN_AI_OPERATIONS = {
  chat: 'chat',
  embeddings: 'embeddings',
  invokeAgent: 'invoke_agent',
  executeTool: 'execute_tool',
} as const;

export const ERROR_TYPE = 'error.type';

/** Maps our provider types to the provider names in OpenTelemetry's conventions. */
const PROVIDERS: ReadonlyMap<string, string> = new Map([
  ['openai', 'openai'],
  ['anthropic', 'anthropic'],
  ['google', 'gcp.gemini'],
]);

/** Returns the provider's name for `GEN_AI.provider`. If PROVIDERS does not contain the type, returns `name`. */
export function providerName(type: string, name: string): string {
  return PROVIDERS.get(type) ?? name;
}

/** Returns the attributes for the settings of a request to a model. */
export function requestAttributes(settings: {
  readonly maxOutputTokens?: number | undefined;
  readonly temperature?: number | undefined;
}): Attributes {
  const { maxOutputTokens, temperature } = settings;
  return defined({ [GEN_AI.maxTokens]: maxOutputTokens, [GEN_AI.temperature]: temperature });
}

/** Returns the attributes for the answer of a model. `reason` says why the answer ended, for example `tool-calls`. */
export function answerAttributes(
  usage:
    | {
        readonly inputTokens: number;
        readonly outputTokens: number;
        readonly cachedTokens?: number | undefined;
        readonly thoughtTokens?: number | undefined;
      }
    | undefined,
  reason: string | undefined,
): Attributes {
  return defined({
    [GEN_AI.inputTokens]: usage?.inputTokens,
    [GEN_AI.outputTokens]: usage?.outputTokens,
    [GEN_AI.cachedInputTokens]: usage?.cachedTokens,
    [GEN_AI.thoughtTokens]: usage?.thoughtTokens,
    [GEN_AI.finishReasons]: reason === undefined ? undefined : [reason.replace('-', '_')],
  });
}
