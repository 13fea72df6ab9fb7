/** Defines a tool of the coding agent: a tool of the framework that can also describe a call before it runs. */
import { defined, type JsonObject } from '../../base/index.ts';
import * as z from 'zod';
import { RichResponse, tool, type MutableState } from '../../agent/index.ts';
import type { Workspace } from '../files/workspace.ts';
import type { CoderTool, Display, Shows } from './tool.ts';

/** A method of a tool. Its first parameter has the type that the schema of the arguments describes. */
type WithInput<Input extends z.ZodObject, Method> = Method extends (
  args: JsonObject,
  ...rest: infer Rest
) => infer Result
  ? (args: z.output<Input>, ...rest: Rest) => Result
  : never;

/** The methods have the same meaning as the methods of `CoderTool`. */
export interface ToolDefinition<Input extends z.ZodObject> extends Pick<
  CoderTool,
  'name' | 'description' | 'effect' | 'asks' | 'cancel'
> {
  readonly input: Input;
  /**
   * Whether calls of this tool run in order with the other calls of the same model response. For example, a test that
   * follows an edit must test the edited files. Default: true, unless the effect is `read`.
   */
  readonly sequential?: boolean;
  /** If this function is missing, a sequential call may change any file. */
  readonly files?: WithInput<Input, NonNullable<CoderTool['files']>>;
  readonly describe: WithInput<Input, CoderTool['describe']>;
  /** Default: a preview of the kind `generic` with the description. */
  readonly preview?: WithInput<Input, CoderTool['preview']>;
  readonly readOnly?: WithInput<Input, NonNullable<CoderTool['readOnly']>>;
  readonly run: WithInput<Input, CoderTool['run']>;
}

/**
 * Returns the workspace as the editor that started the turn sees it, with unsaved changes. If no editor started the
 * turn, returns the workspace on disk.
 */
export type ViewOf = (context: { readonly state: Pick<MutableState, 'get'> }) => Workspace;

/** The schema of an optional text argument. */
export const optionalText = z.string().optional();

/** Returns the schema of an optional number from 1 to `max`. */
export const optionalCount = (max = Number.MAX_SAFE_INTEGER) => z.int().min(1).max(max).optional();

/** Returns the schema of a path argument, which several tools use. */
export const workspacePath = () =>
  z.string().describe('Relative to the workspace, or absolute inside it.');

/** Returns the result of a call: the response for the model, and the text that people see. */
export function respond(response: JsonObject | string, text: string): RichResponse {
  const display: Display = { text };
  return new RichResponse(response, { display });
}

export function defineTool<Input extends z.ZodObject>(
  definition: ToolDefinition<Input>,
): CoderTool {
  const { name, description, input, effect, asks, cancel, files, readOnly, run } = definition;
  const sequential = definition.sequential ?? effect !== 'read';
  const base = tool({ name, description, input, sequential, run });
  const typed = (args: JsonObject): z.output<Input> => {
    base.parse?.(args);
    return input.parse(args);
  };
  return {
    ...base,
    // `base.run` is not called, because it limits the length of responses, and these tools have their own limits.
    run: (args, context, ...more) => run(typed(args), context, ...more),
    ...(readOnly && {
      readOnly: (args: JsonObject, shows: Shows | undefined) => readOnly(typed(args), shows),
    }),
    effect,
    ...defined({ asks, cancel }),
    ...(files && { files: (args: JsonObject) => files(typed(args)) }),
    describe: (args) => definition.describe(typed(args)),
    preview: (args, context) =>
      definition.preview?.(typed(args), context) ?? {
        kind: 'generic',
        description: definition.describe(typed(args)),
      },
  };
}
