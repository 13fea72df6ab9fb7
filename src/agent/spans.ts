/**
 * Calls models and tools, and records a span for each call if the run is within a span. A span contains, for example,
 * names, token counts and types of errors, but never texts, arguments or results.
 */
import type { JsonObject, MaybePromise } from '../base/index.ts';
import {
  type ActiveSpan,
  activeSpan,
  answerAttributes,
  GEN_AI,
  GEN_AI_OPERATIONS,
  providerName,
  requestAttributes,
} from '../base/tracing/index.ts';
import { type Model, type ModelChunk, ModelError, type ModelRequest } from './model.ts';
import { failedResponse } from './tool-error.ts';
import type { Tool, ToolContext } from './tool.ts';

/** Calls `model.generate`. All retries of the model are within one span. */
export function generate(
  model: Model,
  request: ModelRequest,
  signal: AbortSignal,
): AsyncIterable<ModelChunk> {
  const around = activeSpan();
  return around ? tracedAnswer(around, model, request, signal) : model.generate(request, signal);
}

async function* tracedAnswer(
  around: ActiveSpan,
  model: Model,
  request: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<ModelChunk> {
  // A name is `provider:model`, or only the name of a built-in model such as `offline`.
  const [prefix = '', ...rest] = model.name.split(':');
  const name = rest.length > 0 ? rest.join(':') : prefix;
  const span = around.child(`${GEN_AI_OPERATIONS.chat} ${name}`, {
    kind: 'client',
    attributes: {
      [GEN_AI.operation]: GEN_AI_OPERATIONS.chat,
      [GEN_AI.provider]: providerName(prefix, prefix),
      [GEN_AI.requestModel]: name,
      ...requestAttributes(request),
    },
  });
  let isComplete = false;
  try {
    for await (const chunk of span.iterate(() => model.generate(request, signal))) {
      if (chunk.kind === 'finish') {
        isComplete = true;
        span.set(answerAttributes(chunk.usage, chunk.reason));
      }
      yield chunk;
    }
    if (!isComplete) span.fail('cut-off');
  } catch (error) {
    const code = error instanceof ModelError ? error.code : 'failed';
    span.fail(signal.aborted ? 'canceled' : code);
    throw error;
  } finally {
    span.end();
  }
}

/** Calls `tool.run`. */
export function runTool(tool: Tool, args: JsonObject, context: ToolContext): MaybePromise<unknown> {
  const around = activeSpan();
  return around ? tracedTool(around, tool, args, context) : tool.run(args, context);
}

async function tracedTool(
  around: ActiveSpan,
  tool: Tool,
  args: JsonObject,
  context: ToolContext,
): Promise<unknown> {
  const span = around.child(`${GEN_AI_OPERATIONS.executeTool} ${tool.name}`, {
    attributes: {
      [GEN_AI.operation]: GEN_AI_OPERATIONS.executeTool,
      [GEN_AI.toolName]: tool.name,
      [GEN_AI.toolCall]: context.callId,
      [GEN_AI.toolType]: 'function',
    },
  });
  try {
    return await span.run(() => tool.run(args, context));
  } catch (error) {
    span.fail(context.signal.aborted ? 'canceled' : failedResponse(error).error.type);
    throw error;
  } finally {
    span.end();
  }
}
