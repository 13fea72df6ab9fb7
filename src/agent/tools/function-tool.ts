/**
 * Makes a tool from a function. The schema describes the arguments to the model, validates them, and determines the
 * types of the function's parameters.
 *
 *   const weather = tool({
 *     name: 'get_weather',
 *     description: 'The current weather in a city',
 *     input: z.object({ city: z.string() }),
 *     run: ({ city }) => lookUp(city),
 *   });
 *
 * This module does not load zod, because a caller that has a schema has already loaded it.
 */
import { defined, type MaybePromise, type JsonObject } from '../../base/index.ts';
import type { z } from 'zod';
import type { FunctionCallPart } from '../content.ts';
import {
  RichResponse,
  Waiting,
  type ToolConfirmation,
  type Tool,
  type ToolContext,
} from '../tool.ts';
import { jsonResponse } from '../tool-result.ts';

/** The pattern for tool names that every vendor accepts. */
const TOOL_NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;
/** Maximum number of issues in an error message for the model. */
const MAX_ISSUES = 5;
const MAX_ISSUE_LENGTH = 200;

/** The options of `tool`. */
export interface FunctionToolOptions<Input extends z.ZodObject> {
  /** The tool's name. It has at most 64 letters, digits, `_` and `-`, and begins with a letter or `_`. */
  readonly name: string;
  /** A text that explains what the tool does and when to use it. The model chooses tools by their description. */
  readonly description: string;
  readonly input: Input;
  /** Whether a person must approve every call, or a function that decides this for each call. Default: false. */
  readonly confirm?:
    | boolean
    | ((args: z.output<Input>, context: ToolContext) => MaybePromise<boolean | ToolConfirmation>);
  /**
   * Returns whether `confirm` depends on an earlier call of the same model answer. If so, `confirm` is called after the
   * earlier call has ended. `earlier` is always a call of a sequential tool.
   */
  readonly confirmsAfter?: (args: z.output<Input>, earlier: FunctionCallPart) => boolean;
  /** Whether the response arrives later, from outside the run. */
  readonly longRunning?: boolean;
  /** Whether the tool's calls run in the order of the model's answer, and not concurrently with the other calls. */
  readonly sequential?: boolean;
  /**
   * Runs the tool. The result is converted to JSON, and shortened if it is too long. If the function throws, the model
   * gets the error's message.
   */
  run(args: z.output<Input>, context: ToolContext): MaybePromise<unknown>;
}

/** Creates a tool from a function. */
export function tool<Input extends z.ZodObject>(options: FunctionToolOptions<Input>): Tool {
  const { name, description, input, confirm, confirmsAfter, longRunning, sequential } = options;
  if (!TOOL_NAME.test(name)) {
    throw new TypeError(
      `'${name.slice(0, 80)}' is not a valid tool name: use at most 64 letters, digits, _ and -, and begin with a letter or _`,
    );
  }
  let parameters: JsonObject | undefined;
  /** The results of `parse`. They must not be parsed again, because a schema may transform its input. */
  const accepted = new WeakMap<object, z.output<Input>>();

  function parse(args: JsonObject): JsonObject {
    // The schema's output is not always JSON. For example, it can contain a Date. This is safe, because the output is
    // not stored. Only hooks, `confirm` and `run` receive it.
    const parsed = checkArguments(input, args) as z.output<Input> & JsonObject;
    accepted.set(parsed, parsed);
    return parsed;
  }

  function typed(args: JsonObject): z.output<Input> {
    return accepted.get(args) ?? checkArguments(input, args);
  }

  return {
    name,
    description,
    get parameters() {
      return (parameters ??= parametersOf(input));
    },
    ...defined({ longRunning, sequential }),
    parse,
    ...(confirm !== undefined && {
      confirm: (args: JsonObject, context: ToolContext) =>
        typeof confirm === 'boolean' ? confirm : confirm(typed(args), context),
    }),
    ...(confirmsAfter && {
      confirmsAfter(args: JsonObject, earlier: FunctionCallPart) {
        // The arguments may be invalid here. The call then fails without a question.
        const { success, data } = input.safeParse(args);
        return success && confirmsAfter(data, earlier);
      },
    }),
    async run(args, context) {
      const result = await options.run(typed(args), context);
      if (result instanceof Waiting) return result;
      if (result instanceof RichResponse) {
        const { response, parts, display } = result;
        const shown = display !== undefined && { display: jsonResponse(display) };
        return new RichResponse(jsonResponse(response), { parts, ...shown });
      }
      return jsonResponse(result);
    },
  };
}

/**
 * Returns the JSON Schema of the input, before defaults and transformations are applied. Types that JSON Schema
 * cannot represent accept any value.
 */
export function parametersOf(input: z.ZodObject): JsonObject {
  return plainSchema(input.toJSONSchema({ io: 'input', unrepresentable: 'any' }));
}

/**
 * Returns zod's JSON Schema without `$schema`, as plain JSON. The conversion is needed, because the type of zod's JSON
 * Schema also allows values that are not JSON.
 */
export function plainSchema(given: z.core.JSONSchema.BaseSchema): JsonObject {
  const { $schema: _, ...schema } = given;
  return JSON.parse(JSON.stringify(schema));
}

/** Validates arguments. Throws an error whose message is one line for the model. */
export function checkArguments<Input extends z.ZodObject>(
  input: Input,
  args: JsonObject,
): z.output<Input> {
  const result = input.safeParse(args);
  if (!result.success) throw new TypeError(explain(result.error.issues));
  return result.data;
}

function explain(issues: readonly z.core.$ZodIssue[]): string {
  const lines = issues.slice(0, MAX_ISSUES).map(({ path, message }) => {
    const where = path.length > 0 ? `${path.map(String).join('.')}: ` : '';
    return `${where}${message}`.slice(0, MAX_ISSUE_LENGTH);
  });
  const more = issues.length > MAX_ISSUES ? `; and ${issues.length - MAX_ISSUES} more` : '';
  return `the arguments do not match the schema: ${lines.join('; ')}${more}`;
}
