/**
 * Converts the questions of an MCP server (elicitation) to text for people, and reads the answers.
 *
 * A form has fields with simple values. If there is only one field, or only one required field, a person can answer
 * with its value. Any other answer has lines such as `name: Ann`, or is a JSON object. A form without fields is
 * accepted or declined. The answer is checked against the form, so the server gets only valid values. In URL mode, the
 * person opens a page in their own browser. Parley never opens the page.
 */
import { elide, isObject, reveal, type JsonObject, type JsonValue } from '../../base/index.ts';
import type { ElicitRequestParams } from '@modelcontextprotocol/client';
import type { Answer } from '../event.ts';

const MAX_FIELDS = 50;
const MAX_CHOICES = 100;
/** Maximum number of choices that are offered as options of the question. */
const MAX_OPTIONS = 20;
const MAX_MESSAGE = 4_000;
/** Maximum length of a name, a title or a description, in characters. */
const MAX_WORDS = 300;
const MAX_URL = 4_000;
/** Maximum length of a text that a person enters in a field. */
const MAX_VALUE = 20_000;
const MAX_ANSWER = 100_000;

const ACCEPT = 'Accept';
const DECLINE = 'Decline';

/** A value that a person has entered. */
type Value = string | number | boolean | string[];

/**
 * The answer for the server. It is a type alias, because an interface could not be assigned to MCP's result types,
 * which have an index signature.
 */
export type ElicitationReply = {
  readonly action: 'accept' | 'decline' | 'cancel';
  readonly content?: Record<string, Value>;
};

/** A question for a person, and the function that reads the answer. */
export interface ServerQuestion {
  readonly text: string;
  readonly options: readonly string[];
  /** The fields of the form, or the URL of the page, for programs. */
  readonly args: JsonObject;
  /** Returns the result for the server, or a description of the problem with the answer. */
  read(answer: Answer): ElicitationReply | { readonly problem: string };
}

/** Returns the question, or the reason why a person cannot be asked. */
export function elicitationQuestion(
  server: string,
  params: ElicitRequestParams,
): ServerQuestion | string {
  return params.mode === 'url'
    ? pageQuestion(server, params)
    : formQuestion(server, params.message, params.requestedSchema);
}

function pageQuestion(
  server: string,
  { message, url }: { readonly message: string; readonly url: string },
): ServerQuestion | string {
  const address = URL.parse(url);
  if (!address || !/^https?:$/.test(address.protocol)) return 'the address is not a web page';
  if (url.length > MAX_URL) return `the address has more than ${MAX_URL} characters`;
  return {
    text: [
      `The MCP server ${server} asks you to open a page on ${address.host}: ${words(message, MAX_MESSAGE)}`,
      address.href,
      'Open it yourself if you trust the server and the address, then accept.',
    ].join('\n'),
    options: [ACCEPT, DECLINE],
    args: { url: address.href },
    read(answer) {
      const said = textOf(answer).toLowerCase();
      if (isCancelled(answer)) return { action: 'cancel' };
      if (/^(accept|yes|y|ok|done)$/.test(said)) return { action: 'accept' };
      if (/^(decline|no|n)$/.test(said)) return { action: 'decline' };
      return { problem: `Answer ${ACCEPT} or ${DECLINE}.` };
    },
  };
}

interface Field {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly required: boolean;
  /** The description of the valid values, for people. */
  readonly kind: string;
  readonly choices: readonly { readonly value: string; readonly title: string }[];
  /** Whether several choices can be selected. */
  readonly isList: boolean;
  readonly initial: JsonValue | undefined;
  /** Converts a person's text, or a value from a JSON object. Throws an error that describes what is wrong. */
  read(value: unknown): Value;
}

function formQuestion(server: string, message: string, schema: unknown): ServerQuestion | string {
  const properties: unknown = isObject(schema) ? schema['properties'] : undefined;
  const required: unknown = isObject(schema) ? schema['required'] : undefined;
  const entries = Object.entries(isObject(properties) ? properties : {});
  if (entries.length > MAX_FIELDS) return `the form has more than ${MAX_FIELDS} fields`;
  if (entries.some(([name]) => name !== oneLine(name))) return 'the form has an unusual field name';
  const isRequired = (name: string) => Array.isArray(required) && required.includes(name);
  const fields = entries.map(([name, field]) => fieldOf(name, field, isRequired(name)));
  if (fields.some(({ choices }) => choices.length > MAX_CHOICES)) {
    return `the form has a field with more than ${MAX_CHOICES} choices`;
  }
  const [only] = fields;
  const single = fields.length === 1 ? only : undefined;
  const canAccept = fields.every((field) => !field.required || field.initial !== undefined);
  const choices = single ? optionsOf(single) : [];
  const args: Record<string, JsonValue> = {};
  for (const field of fields) args[field.name] = line(field);
  return {
    text: [
      `The MCP server ${server} asks: ${words(message, MAX_MESSAGE)}`,
      ...fields.map((field) => `- ${field.name}: ${line(field)}`),
      hint(fields),
    ].join('\n'),
    options: [...choices, ...(canAccept && choices.length === 0 ? [ACCEPT] : []), DECLINE],
    args,
    read(answer) {
      if (isCancelled(answer)) return { action: 'cancel' };
      const said = textOf(answer);
      if (said.toLowerCase() === DECLINE.toLowerCase()) return { action: 'decline' };
      const isPlainAccept = canAccept && said.toLowerCase() === ACCEPT.toLowerCase();
      try {
        const given = isPlainAccept ? {} : valuesIn(said, answer.value, fields);
        return { action: 'accept', content: contentFrom(given, fields) };
      } catch (error) {
        if (error instanceof FormError) return { problem: error.message };
        throw error;
      }
    },
  };
}

/** The error for an invalid answer. */
class FormError extends Error {}

function hint(fields: readonly Field[]): string {
  if (fields.length === 0) return `Answer ${ACCEPT} or ${DECLINE}.`;
  const how =
    fields.length === 1
      ? 'Answer with the value'
      : `Answer with a line for each field, such as "${fields[0]!.name}: …", or with a JSON object`;
  return `${how}, or ${DECLINE}. Do not enter passwords or keys.`;
}

function line({ title, description, required, kind, initial, choices }: Field): string {
  const about = [title, description].filter((text) => text !== '').join('. ');
  const more = [
    kind,
    ...(required ? ['required'] : []),
    ...(initial === undefined ? [] : [`default ${shown(initial, choices)}`]),
  ];
  return `${about}${about === '' ? '' : ' '}(${more.join(', ')})`;
}

function shown(value: JsonValue, choices: Field['choices']): string {
  if (Array.isArray(value)) return value.map((each) => shown(each, choices)).join(', ');
  const known = choices.find((each) => each.value === value);
  if (known) return known.title;
  return oneLine(typeof value === 'string' ? value : JSON.stringify(value));
}

function optionsOf({ choices, kind, isList }: Field): readonly string[] {
  if (kind === YES_OR_NO) return ['Yes', 'No'];
  return !isList && choices.length <= MAX_OPTIONS ? choices.map(({ title }) => title) : [];
}

const YES_OR_NO = 'yes or no';

function fieldOf(name: string, schema: unknown, required: boolean): Field {
  const source: Readonly<Record<string, unknown>> = isObject(schema) ? { ...schema } : {};
  const common = {
    name,
    title: oneLine(source['title']),
    description: oneLine(source['description']),
    required,
    choices: choicesIn(source),
    isList: source['type'] === 'array',
    initial: initialIn(source['default']),
  };
  const { choices } = common;
  const { type } = source;
  if (type === 'array') {
    const items = choicesIn(isObject(source['items']) ? { ...source['items'] } : {});
    const range = rangeOf(source, 'minItems', 'maxItems');
    const kind = `${range.text === '' ? 'any' : range.text} of ${list(items)}`;
    return { ...common, choices: items, kind, read: (value) => several(value, items, range) };
  }
  if (type === 'boolean') return { ...common, kind: YES_OR_NO, read: yesOrNo };
  if (type === 'number' || type === 'integer') {
    const range = rangeOf(source, 'minimum', 'maximum');
    const kind = `${type === 'integer' ? 'whole number' : 'number'}${range.text && ` ${range.text}`}`;
    return { ...common, kind, read: (value) => numberIn(value, type === 'integer', range) };
  }
  if (choices.length > 0) {
    return { ...common, kind: `one of ${list(choices)}`, read: (value) => choice(value, choices) };
  }
  const range = rangeOf(source, 'minLength', 'maxLength');
  const format = typeof source['format'] === 'string' ? source['format'] : '';
  const kind = `${FORMATS.get(format)?.name ?? 'text'}${range.text && `, ${range.text} characters`}`;
  return { ...common, kind, read: (value) => textIn(value, format, range) };
}

function list(choices: Field['choices']): string {
  return choices.map(({ title }) => title).join(', ');
}

/** Returns the choices of a field. Their titles are in `oneOf` or `anyOf`, or in the older `enumNames`. */
function choicesIn(source: Readonly<Record<string, unknown>>): Field['choices'] {
  const { enum: values, enumNames: names, oneOf, anyOf } = source;
  if (Array.isArray(values)) {
    return values.map((value: unknown, at) => {
      const title: unknown = Array.isArray(names) ? names[at] : undefined;
      return { value: String(value), title: oneLine(title ?? value) };
    });
  }
  const titled: unknown = oneOf ?? anyOf;
  if (!Array.isArray(titled)) return [];
  return titled.filter(isObject).map((entry) => {
    const { const: value, title }: Readonly<Record<string, unknown>> = { ...entry };
    return { value: String(value), title: oneLine(title ?? value) };
  });
}

function initialIn(value: unknown): JsonValue | undefined {
  if (typeof value === 'string') return value.slice(0, MAX_VALUE);
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  return Array.isArray(value) ? value.slice(0, MAX_CHOICES).map(String) : undefined;
}

interface Range {
  readonly min: number;
  readonly max: number;
  readonly text: string;
}

function rangeOf(source: Readonly<Record<string, unknown>>, least: string, most: string): Range {
  const min = typeof source[least] === 'number' ? source[least] : -Infinity;
  const max = typeof source[most] === 'number' ? source[most] : Infinity;
  const both = min !== -Infinity && max !== Infinity;
  const upTo = max === Infinity ? '' : `at most ${max}`;
  return {
    min,
    max,
    text: both ? `${min} to ${max}` : min === -Infinity ? upTo : `at least ${min}`,
  };
}

/** Throws if the number is outside the range. `verb` and `unit` are words of the message. */
function checkRange(size: number, { min, max, text }: Range, verb = 'be', unit = ''): void {
  if (size < min || size > max) throw new FormError(`must ${verb} ${text}${unit}`);
}

interface Format {
  readonly name: string;
  test(text: string): boolean;
}

const FORMATS: ReadonlyMap<string, Format> = new Map<string, Format>([
  ['email', { name: 'an email address', test: (text) => /^[^\s@]+@[^\s@]+$/.test(text) }],
  ['uri', { name: 'a URI', test: (text) => URL.canParse(text) }],
  ['date', { name: 'a date such as 2026-01-31', test: isDate }],
  [
    'date-time',
    {
      name: 'a date and time such as 2026-01-31T12:00:00Z',
      test: (text) => /^\d{4}-\d\d-\d\dT/.test(text) && !Number.isNaN(Date.parse(text)),
    },
  ],
]);

function isDate(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const time = Date.parse(text);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}

function textIn(value: unknown, format: string, range: Range): string {
  if (typeof value !== 'string') throw new FormError('must be a text');
  if (value.length > MAX_VALUE) throw new FormError(`must have at most ${MAX_VALUE} characters`);
  checkRange(value.length, range, 'have', ' characters');
  const known = FORMATS.get(format);
  if (known && !known.test(value)) throw new FormError(`must be ${known.name}`);
  return value;
}

function numberIn(value: unknown, isWhole: boolean, range: Range): number {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  const what = isWhole ? 'a whole number' : 'a number';
  if (typeof number !== 'number' || !Number.isFinite(number))
    throw new FormError(`must be ${what}`);
  if (isWhole && !Number.isInteger(number)) throw new FormError(`must be ${what}`);
  checkRange(number, range);
  return number;
}

function yesOrNo(value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  const said = typeof value === 'string' ? value.trim().toLowerCase() : '';
  if (/^(yes|y|true|on|1)$/.test(said)) return true;
  if (/^(no|n|false|off|0)$/.test(said)) return false;
  throw new FormError('must be yes or no');
}

function choice(value: unknown, choices: Field['choices']): string {
  const said = typeof value === 'string' ? value.trim() : '';
  const folded = said.toLowerCase();
  const found =
    choices.find((each) => each.value === said) ??
    choices.find((each) => each.title === said) ??
    choices.find((each) => [each.value, each.title].some((text) => text.toLowerCase() === folded));
  if (!found) throw new FormError(`must be one of ${list(choices)}`);
  return found.value;
}

function several(value: unknown, choices: Field['choices'], range: Range): string[] {
  const given = typeof value === 'string' ? value.split(',') : value;
  if (!Array.isArray(given)) throw new FormError('must be a list');
  checkRange(given.length, range, 'have', ' values');
  return given.map((each: unknown) => choice(each, choices));
}

/** Returns the values that a person has entered, by field name. */
function valuesIn(
  said: string,
  value: JsonValue | undefined,
  fields: readonly Field[],
): Readonly<Record<string, unknown>> {
  if (isObject(value)) return { ...value };
  if (said.length > MAX_ANSWER)
    throw new FormError(`The answer has more than ${MAX_ANSWER} characters.`);
  if (said.startsWith('{')) {
    try {
      const parsed: unknown = JSON.parse(said);
      if (isObject(parsed)) return { ...parsed };
    } catch {
      // The text is not JSON, but it may still be the value of a field.
    }
  }
  const named = namedValues(said, fields);
  if (named) return named;
  const required = fields.filter((field) => field.required);
  const [target] = fields.length === 1 ? fields : required;
  // A text such as "age: 7" names a field, even if the form has no such field. So it is not the value of the one
  // required field.
  const isClear = fields.length === 1 || (required.length === 1 && !/^\w+\s*[:=]/.test(said));
  if (!target || !isClear) throw new FormError(hint(fields));
  return { [target.name]: said };
}

/**
 * Reads the fields from a text such as `name: Ann, age: 7`. Line breaks, commas and semicolons separate the fields.
 * Returns undefined if the text does not begin with the name of a field.
 */
function namedValues(
  said: string,
  fields: readonly Field[],
): Readonly<Record<string, string>> | undefined {
  const starts: { readonly name: string; readonly at: number; readonly value: number }[] = [];
  for (const { index: at, 0: separator } of said.matchAll(/(?:^|[,;\n])\s*/g)) {
    const start = at + separator.length;
    const found = fields.find(
      ({ name }) => said.startsWith(name, start) && valueAt(said, start + name.length) > 0,
    );
    if (!found || starts.some(({ name }) => name === found.name)) continue;
    starts.push({ name: found.name, at, value: valueAt(said, start + found.name.length) });
  }
  if (starts[0]?.at !== 0) return undefined;
  const values = starts.map(({ name, value }, at): [string, string] => [
    name,
    said.slice(value, starts[at + 1]?.at).trim(),
  ]);
  return Object.fromEntries(values);
}

/**
 * Skips spaces and tabs, and returns the position after a colon or an equals sign. Returns 0 if there is no such sign.
 */
function valueAt(said: string, position: number): number {
  let at = position;
  while (said[at] === ' ' || said[at] === '\t') at++;
  return said[at] === ':' || said[at] === '=' ? at + 1 : 0;
}

/** Checks the values, and adds the defaults of fields without a value. */
function contentFrom(
  given: Readonly<Record<string, unknown>>,
  fields: readonly Field[],
): Record<string, Value> {
  const unknown = Object.keys(given).find((name) => !fields.some((field) => field.name === name));
  if (unknown !== undefined) {
    const names = fields.map(({ name }) => name).join(', ');
    throw new FormError(`There is no field ${elide(unknown, 80)}; the fields are: ${names}.`);
  }
  const content: Record<string, Value> = {};
  for (const field of fields) {
    const own = Object.hasOwn(given, field.name) ? given[field.name] : undefined;
    const value = own ?? field.initial;
    if (value === undefined || value === '') {
      if (field.required) throw new FormError(`${field.name} is missing.`);
      continue;
    }
    try {
      content[field.name] = field.read(value);
    } catch (error) {
      if (!(error instanceof FormError)) throw error;
      throw new FormError(`${field.name} ${error.message}.`);
    }
  }
  return content;
}

/** Returns whether the person has chosen not to answer. */
function isCancelled({ confirmed, value }: Answer): boolean {
  return confirmed === false || value === undefined || value === null || value === '';
}

function textOf({ value }: Answer): string {
  return typeof value === 'string' ? value.trim() : '';
}

/** Returns a shortened text from a server, for people. */
function words(text: unknown, max: number): string {
  const isText = typeof text === 'string' || typeof text === 'number';
  return isText ? reveal(elide(String(text).trim(), max)) : '';
}

/** Returns a text from a server on one line, so that it cannot imitate another field. */
function oneLine(text: unknown): string {
  return words(text, MAX_WORDS).replaceAll(/\s+/g, ' ');
}
