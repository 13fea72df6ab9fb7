/**
 * Names of attributes by OpenTelemetry's semantic conventions: those for generative AI, and the general ones that go
 * with them. What was said is never an attribute. A span of a call is named `{operation} {model or agent}`.
 */
export const GEN_AI = {
  /** One of GEN_AI_OPERATIONS. */
  operation: 'gen_ai.operation.name',
  /** `openai`, `anthropic`, `gcp.gemini`; else the configured provider's name. */
  provider: 'gen_ai.provider.name',
  requestModel: 'gen_ai.request.model',
  responseModel: 'gen_ai.response.model',
  responseId: 'gen_ai.response.id',
  finishReasons: 'gen_ai.response.finish_reasons',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cachedInputTokens: 'gen_ai.usage.cache_read.input_tokens',
  /** The context of the task. */
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

/** Beside those of generative AI. */
export const SPAN = {
  errorType: 'error.type',
  serverAddress: 'server.address',
  serverPort: 'server.port',
  httpMethod: 'http.request.method',
  httpRoute: 'http.route',
  httpStatus: 'http.response.status_code',
  /** Ours. */
  taskId: 'parley.task.id',
  workspace: 'parley.workspace',
} as const;
