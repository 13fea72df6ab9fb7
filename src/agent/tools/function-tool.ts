/**
 * A function as a tool. The schema says what the model may hand over, checks it, and gives the function its types.
 *
 *   const weather = tool({
 *     name: 'get_weather',
 *     description: 'The weather in a city, now',
 *     input: z.object({ city: z.string() }),
 *     run: ({ city }) => lookUp(city),
 *   });
 *
 * zod itself is not loaded here: whoever has a schema has loaded it.
 */
import type { MaybePromise, JsonObject } from '../../base/index.ts';
import type { z } from 'zod';
import {
  RichResponse,
  Waiting,
  type ToolConfirmation,
  type Tool,
  type ToolContext,
} from '../tool.ts';
import { jsonResponse } from '../tool-result.ts';

/** What every vendor takes. */
const TOOL_NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;
/** Of a refusal, which is for a model to read. */
const MAX_ISSUES = 5;
const MAX_ISSUE_LENGTH = 200;

/** The options of `tool`. */
export interface FunctionToolOptions<Input extends z.ZodObject> {
  /** Letters, digits, `_` and `-`, at most 64, and no digit or `-` first. */
  readonly name: string;
  /** What it does and when to use it: the model chooses by it. */
  readonly description: string;
  readonly input: Input;
  /** Whether a person has to allow a call, always or as the function says. */
  readonly confirm?:
    | boolean
    | ((args: z.output<Input>, context: ToolContext) => MaybePromise<boolean | ToolConfirmation>);
  /** The call is answered later, from outside. */
  readonly longRunning?: boolean;
  /** What it returns is made JSON, and cut when it is too long. What it throws is told to the model. */
  run(args: z.output<Input>, context: ToolContext): MaybePromise<unknown>;
}

/** Makes a tool of a function. */
export function tool<Input extends z.ZodObject>(options: FunctionToolOptions<Input>): Tool {
  const { name, description, input, confirm, longRunning } = options;
  if (!TOOL_NAME.test(name)) {
    throw new TypeError(
      `'${name.slice(0, 80)}' cannot be the name of a tool: letters, digits, _ and -, at most 64, beginning with a letter or _`,
    );
  }
  let parameters: JsonObject | undefined;
  /** What `parse` has returned: it is not parsed again, because a schema may change what it reads. */
  const accepted = new WeakMap<object, z.output<Input>>();

  function parse(args: JsonObject): JsonObject {
    // The schema's output need not be JSON (a date, say), but it goes to `confirm` and `run` and nowhere else.
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
    ...(longRunning !== undefined && { longRunning }),
    parse,
    ...(confirm !== undefined && {
      confirm: (args: JsonObject, context: ToolContext) =>
        typeof confirm === 'boolean' ? confirm : confirm(typed(args), context),
    }),
    async run(args, context) {
      const result = await options.run(typed(args), context);
      if (result instanceof Waiting) return result;
      if (result instanceof RichResponse) {
        const { response, parts, display } = result;
        return new RichResponse(jsonResponse(response), {
          parts,
          ...(display !== undefined && { display: jsonResponse(display) }),
        });
      }
      return jsonResponse(result);
    },
  };
}

/** As the model writes it: before defaults and transformations. What JSON Schema cannot say is left open. */
export function parametersOf(input: z.ZodObject): JsonObject {
  const schema: Record<string, unknown> = input.toJSONSchema({
    io: 'input',
    unrepresentable: 'any',
  });
  const { $schema: _dialect, ...rest } = schema;
  return JSON.parse(JSON.stringify(rest));
}

/** The arguments as the schema makes them; throws with what is wrong, in one line for the model. */
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
  return `the arguments do not fit the schema: ${lines.join('; ')}${more}`;
}
