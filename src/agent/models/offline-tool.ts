/**
 * Finds the tool call for a request to the offline model, using only the declarations of the tools. Examples of
 * requests: `get_weather Paris`, `get_weather {"city":"Paris"}`, `what is the weather in Paris?`. A call is made only
 * if one tool matches better than all others, and its arguments are clear. Arguments are clear if they are given as
 * JSON, if no argument is required, or if the request contains the value of the only required argument.
 */
import { type JsonObject, type JsonValue, isObject } from '../../base/index.ts';
import type { ToolDeclaration } from '../model.ts';
import type { Step } from './offline-request.ts';
import { objectOf } from './schema.ts';

const STOP_WORDS = new Set(
  'a an the to of for in on at by and or do get set fetch call use make tool current'.split(' '),
);
const LEADING =
  /^(?:(?:in|for|of|at|about|on|from|to|with|by|the|is|like|right now|now|today|please|tool)\b|[\s:,=-])+/i;
const TRAILING = new Set(['now', 'today', 'currently', 'please', 'like']);

/** Returns the call for this request, or undefined if the tool or its arguments are not clear. */
export function matchTool(said: string, tools: readonly ToolDeclaration[]): Step | undefined {
  const named = tools.find(({ name }) => startsWithName(said, name));
  if (named !== undefined) return call(named, said.slice(named.name.length), said);
  const ranked = tools
    .map((tool) => ({ tool, after: afterWords(said, tool.name) }))
    .filter(({ after }) => after !== undefined)
    .toSorted((a, b) => wordsOf(b.tool.name).length - wordsOf(a.tool.name).length);
  const [best, second] = ranked;
  if (best?.after === undefined) return undefined;
  const tie = second && wordsOf(second.tool.name).length === wordsOf(best.tool.name).length;
  return tie ? undefined : call(best.tool, best.after, said);
}

/** Returns the syntax of a request for this tool, for example `get_weather CITY`. */
export function usageOf({ name, parameters }: ToolDeclaration): string {
  const required = requiredOf(parameters);
  if (required.length === 0) return name;
  const [only] = required;
  if (required.length === 1 && only !== undefined && only.type !== undefined) {
    return `${name} ${only.name.toUpperCase()}`;
  }
  return `${name} {${required.map((each) => JSON.stringify(each.name)).join(', ')}: …}`;
}

function call(tool: ToolDeclaration, after: string, said: string): Step | undefined {
  const args = jsonIn(said) ?? fill(requiredOf(tool.parameters), after, said);
  return args && { tool: tool.name, args, done: `${tool.name} returned:`, shows: true };
}

function fill(required: readonly Parameter[], after: string, said: string): JsonObject | undefined {
  const [only, ...others] = required;
  if (only === undefined) return {};
  if (others.length > 0) return undefined;
  const text = withoutTrailing(after.trim().replace(LEADING, ''))
    .replace(/(?<![.!?])[.!?]+$/, '')
    .trim();
  const value = only.values
    ? chosen(only.values, said)
    : valueOf(only, /^(["'`]).*\1$/s.test(text) ? text.slice(1, -1) : text);
  return value === undefined ? undefined : { [only.name]: value };
}

/** Removes words such as `today` and `right now` from the end of the text. Never removes the first word. */
function withoutTrailing(text: string): string {
  const words = text.split(/(\s+)/);
  let end = words.length;
  while (end > 1 && TRAILING.has(words[end - 1]?.toLowerCase() ?? '')) {
    const isNow = words[end - 1]?.toLowerCase() === 'now';
    end -= 2;
    if (isNow && end > 1 && words[end] === ' ' && words[end - 1]?.toLowerCase() === 'right')
      end -= 2;
  }
  return words.slice(0, end).join('');
}

/** Returns the value that the request mentions, or undefined if it mentions no value or several values. */
function chosen(values: readonly string[], said: string): string | undefined {
  const words = said.toLowerCase();
  const [found, another] = values.filter((value) => words.includes(value.toLowerCase()));
  return another === undefined ? found : undefined;
}

function valueOf({ type }: Parameter, text: string): JsonValue | undefined {
  if (type === 'string') return text === '' ? undefined : text;
  if (type !== 'number' && type !== 'integer') return undefined;
  const [number, another] = text.match(/-?\d+(?:\.\d+)?/g) ?? [];
  return number === undefined || another !== undefined ? undefined : Number(number);
}

interface Parameter {
  readonly name: string;
  readonly type: string | undefined;
  /** The allowed values, or undefined if the schema does not list them. */
  readonly values: readonly string[] | undefined;
}

function requiredOf(schema: JsonObject): Parameter[] {
  const properties = objectOf(schema['properties']);
  const { required } = schema;
  const names = Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [];
  return names.map((name) => {
    const { type, enum: values } = objectOf(properties[name]);
    return {
      name,
      type: typeof type === 'string' ? type : undefined,
      values: Array.isArray(values)
        ? values.filter((value) => typeof value === 'string')
        : undefined,
    };
  });
}

function jsonIn(said: string): JsonObject | undefined {
  const from = said.indexOf('{');
  if (from < 0) return undefined;
  const json = said.slice(from, said.lastIndexOf('}') + 1);
  try {
    const value: JsonValue = JSON.parse(json);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function startsWithName(said: string, name: string): boolean {
  return (
    said.toLowerCase().startsWith(name.toLowerCase()) && !/^[\w-]/.test(said.slice(name.length))
  );
}

/**
 * Returns the text after the words of the tool's name, or the text before them if nothing follows. Returns undefined if
 * the request does not contain all of these words.
 */
function afterWords(said: string, name: string): string | undefined {
  const words = wordsOf(name);
  if (words.length === 0) return undefined;
  let first = said.length;
  let last = 0;
  for (const word of words) {
    const match = new RegExp(String.raw`\b${word}s?\b`, 'i').exec(said);
    if (match === null) return undefined;
    first = Math.min(first, match.index);
    last = Math.max(last, match.index + match[0].length);
  }
  const after = said.slice(last);
  return /\w/.test(after.replace(LEADING, '')) ? after : said.slice(0, first);
}

/**
 * Returns the significant words of a name: `getWeather`, `get_weather` and `maps__get-weather` all contain `weather`.
 */
function wordsOf(name: string): string[] {
  const words = name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/);
  return words
    .filter((word) => word !== '' && !STOP_WORDS.has(word))
    .map((word) => word.replace(/(?<=..)s$/, ''));
}
