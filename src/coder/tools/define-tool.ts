/** A tool of the coding agent: one of the framework's, with what people are told of a call before it is made. */
import type { MaybePromise, JsonObject } from '../../base/index.ts';
import type { z } from 'zod';
import { tool, type ToolContext } from '../../agent/index.ts';
import type { CoderTool, Effect, Preview } from './tool.ts';

export interface ToolDefinition<Input extends z.ZodObject> {
  readonly name: string;
  readonly description: string;
  readonly input: Input;
  readonly effect: Effect;
  readonly describe: (args: z.output<Input>) => string;
  /** Left out: its description is all there is to show. */
  readonly preview?: (args: z.output<Input>, context: ToolContext) => MaybePromise<Preview>;
  readonly run: (
    args: z.output<Input>,
    context: ToolContext,
    preview?: Preview,
  ) => MaybePromise<unknown>;
}

export function defineTool<Input extends z.ZodObject>(
  definition: ToolDefinition<Input>,
): CoderTool {
  const { name, description, input, effect, run } = definition;
  const base = tool({ name, description, input, run });
  const typed = (args: JsonObject): z.output<Input> => {
    base.parse?.(args);
    return input.parse(args);
  };
  return {
    ...base,
    // Past the framework's limit on responses: these tools have their own, and what people are shown has its shape.
    run: (args, context, preview) => run(typed(args), context, preview),
    effect,
    describe: (args) => definition.describe(typed(args)),
    preview: (args, context) =>
      definition.preview?.(typed(args), context) ?? {
        kind: 'generic',
        description: definition.describe(typed(args)),
      },
  };
}
