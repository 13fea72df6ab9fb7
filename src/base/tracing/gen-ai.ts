/**
 * Attribute names of OpenTelemetry's semantic conventions for generative AI, and `error.type`. Attributes never contain
 * the content of messages.
 *
 * A span covers one request of a caller, with all attempts to serve it. Its name is `{operation} {model or agent}`.
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
  maxTokens: 'gen_ai.request.max_tokens',
  temperature: 'gen_ai.request.temperature',
} as const;

export const GEN_AI_OPERATIONS = {
  chat: 'chat',
  embeddings: 'embeddings',
  invokeAgent: 'invoke_agent',
} as const;

export const ERROR_TYPE = 'error.type';
