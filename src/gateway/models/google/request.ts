/**
 * Converts a request of Google's Gemini API to a ModelRequest, for providers with another API. Safety settings and
 * unknown fields are ignored. Known fields, tools and parts are refused if they would change the answer and cannot be
 * converted.
 */
import type { JsonObject, JsonValue } from '../../../base/index.ts';
import type {
  BlobPart,
  Content,
  ContentPart,
  FileContentPart,
  FunctionCallPart,
  ModelRequest,
  ToolDeclaration,
} from '../../../agent/index.ts';
import type { GoogleFile, GenerateBody, InputContent, GooglePart } from './schema.ts';
import type { CarriedThought } from '../vendor-api/carried.ts';
import {
  type Conversion,
  convertedOrData,
  invalidField,
  isFilled,
  levelOf,
  type OpenContent,
  partsOfRole,
  setFields,
} from '../vendor-api/request.ts';
import { carriedIn } from './signature.ts';
import { jsonSchemaOf } from './tool-schema.ts';

/**
 * The defaults of Google. A client may send them explicitly, as Gemini CLI always does. They are not passed on to other
 * vendors, because some models refuse these settings.
 */
const DEFAULTS = { temperature: [1], topP: [0.95, 1], topK: [64] } as const;
const DEFAULT_LEVEL = 'high';

const LEVELS = ['minimal', 'low', 'medium', 'high'] as const;
/** Fields of `generationConfig` that only Google supports, and that would change the answer. */
const ONLY_GOOGLE = ['responseLogprobs', 'speechConfig'] as const;
const JSON_TYPE = 'application/json';

/**
 * Throws `invalidParams` if the request asks for several answers or uses a cache. The budgets reserve only one answer,
 * and the caches at the provider belong to the operator.
 */
export function checkRequest({ generationConfig, cachedContent }: Partial<GenerateBody>): void {
  if ((generationConfig?.candidateCount ?? 1) !== 1)
    throw invalidField('generationConfig.candidateCount', 'must be 1');
  if (cachedContent !== undefined)
    throw invalidField('cachedContent', 'the gateway has no caches: send the contents instead');
}

/**
 * Converts the request. With `strict`, throws `invalidParams` with the name of a field that other providers cannot
 * process. Without `strict`, converts only the fields that determine the number of tokens.
 */
export function generateRequest(body: GenerateBody, { strict }: Conversion): ModelRequest {
  const { generationConfig: config = {} } = body;
  const limit = setFields({ maxOutputTokens: config.maxOutputTokens });
  if (!strict) return { ...inputOf(body, { strict }), ...limit };
  const refused = ONLY_GOOGLE.find(
    (field) => config[field] !== undefined && config[field] !== false,
  );
  if (refused !== undefined)
    throw invalidField(`generationConfig.${refused}`, 'only models of Google support it');
  const { temperature, topP, topK, seed, presencePenalty, frequencyPenalty } = config;
  const { stopSequences: stop = [], responseModalities: kinds = [] } = config;
  if (kinds.some((kind) => kind.toUpperCase() !== 'TEXT'))
    throw invalidField('generationConfig.responseModalities', 'only models of Google support it');
  return {
    ...inputOf(body, { strict }),
    ...limit,
    ...(isSet(temperature, DEFAULTS.temperature) && { temperature }),
    ...(isSet(topP, DEFAULTS.topP) && { topP }),
    ...(isSet(topK, DEFAULTS.topK) && { topK }),
    ...(seed !== undefined && { seed }),
    ...(isSet(presencePenalty, [0]) && { presencePenalty }),
    ...(isSet(frequencyPenalty, [0]) && { frequencyPenalty }),
    ...(stop.length > 0 && { stop }),
    ...thinkingOf(body),
  };
}

/** Returns the settings for thoughts. A number of tokens is converted to a level. */
function thinkingOf({
  generationConfig: config = {},
}: GenerateBody): Pick<ModelRequest, 'reasoning' | 'thoughts'> {
  const { thinkingLevel, thinkingBudget, includeThoughts } = config.thinkingConfig ?? {};
  const asked = thinkingLevel?.toLowerCase();
  const level = LEVELS.find((each) => each === asked) ?? budgetLevel(thinkingBudget);
  return {
    ...(level !== undefined && level !== DEFAULT_LEVEL && { reasoning: level }),
    ...(includeThoughts === true && { thoughts: true }),
  };
}

function budgetLevel(budget: number | undefined): ModelRequest['reasoning'] {
  // A budget of -1 means that the model decides.
  if (budget === undefined || budget < 0) return undefined;
  return budget === 0 ? 'none' : levelOf(budget);
}

/**
 * Converts the fields that determine the input tokens. Without `strict`, a part of a message that cannot be converted
 * becomes a data part. This is accurate enough to estimate the tokens of a request that is relayed to Google.
 */
export function inputOf(body: GenerateBody, { strict }: Conversion): ModelRequest {
  const parts = body.systemInstruction?.parts ?? [];
  const system = parts.flatMap(({ text = '' }) => (text === '' ? [] : [text])).join('\n\n');
  return {
    messages: contentsOf(body.contents, strict),
    ...(system !== '' && { system }),
    ...toolsOf(body, strict),
    ...outputOf(body, strict),
  };
}

function outputOf(
  { generationConfig: config = {} }: GenerateBody,
  strict: boolean,
): Pick<ModelRequest, 'outputSchema' | 'json'> {
  const { responseMimeType: type = 'text/plain', responseSchema, responseJsonSchema } = config;
  const outputSchema = responseJsonSchema ?? (responseSchema && jsonSchemaOf(responseSchema));
  if (type === JSON_TYPE) return outputSchema === undefined ? { json: true } : { outputSchema };
  if (strict && type !== 'text/plain')
    throw invalidField('generationConfig.responseMimeType', `must be text/plain or ${JSON_TYPE}`);
  return {};
}

/** Returns whether the request has tools, including tools that run at Google. */
export function hasTools({ tools = [] }: GenerateBody): boolean {
  return tools.some((tool) => Object.values(tool).some(isFilled));
}

function toolsOf(body: GenerateBody, strict: boolean): Pick<ModelRequest, 'tools' | 'toolChoice'> {
  const declared = (body.tools ?? []).flatMap((tool, index): ToolDeclaration[] => {
    const { functionDeclarations = [], ...others } = tool;
    const [other] = Object.keys(others);
    if (strict && other !== undefined)
      throw invalidField(`tools.${index}`, `only models of Google have the tool ${other}`);
    return functionDeclarations.map((each) => ({
      name: each.name,
      description: each.description ?? '',
      parameters: each.parametersJsonSchema ?? jsonSchemaOf(each.parameters ?? { type: 'object' }),
    }));
  });
  const { mode = 'AUTO', allowedFunctionNames: allowed = [] } =
    body.toolConfig?.functionCallingConfig ?? {};
  if (declared.length === 0) return {};
  if (mode === 'NONE') return { tools: declared, toolChoice: 'none' };
  if (mode !== 'ANY') return { tools: declared };
  const names = new Set(allowed);
  const tools = names.size === 0 ? declared : declared.filter(({ name }) => names.has(name));
  const [tool] = tools;
  if (tool === undefined) {
    if (!strict) return { tools: declared };
    const field = 'toolConfig.functionCallingConfig.allowedFunctionNames';
    throw invalidField(field, 'none of these functions is in tools');
  }
  return { tools, toolChoice: tools.length === 1 ? { tool: tool.name } : 'required' };
}

/**
 * Converts the contents. Consecutive contents of the same role become one content. A function response without a known
 * id belongs to the first call of this function that has no response yet.
 */
function contentsOf(given: readonly InputContent[], strict: boolean): Content[] {
  const contents: OpenContent[] = [];
  /** The calls that have no response yet. */
  let open: Pick<FunctionCallPart, 'id' | 'name'>[] = [];
  let calls = 0;
  /** The thoughts in the signatures of the current content's calls. */
  let thoughts: CarriedThought[] = [];

  for (const [index, { role: as, parts = [] }] of given.entries()) {
    const role = as === 'model' ? 'model' : 'user';
    const converted = parts.map((part, place) =>
      convertedOrData(part, strict, () => convert(part, `contents.${index}.parts.${place}`)),
    );
    if (role === 'user') close(`contents.${index}`);
    const into = partsOfRole(contents, role);
    // Some clients, such as Gemini CLI, do not send thoughts back. In this case, the thoughts in the signatures are
    // used.
    const isSent = converted.some((part) => part?.kind === 'thought');
    if (role === 'model' && !isSent)
      into.push(...thoughts.map((each) => ({ kind: 'thought' as const, ...each })));
    thoughts = [];
    for (const part of converted) if (part) add(into, part);
  }
  close('contents');
  return contents.filter(({ parts }) => parts.length > 0);

  function convert(part: GooglePart, at: string): ContentPart | undefined {
    const { text, thought, thoughtSignature, functionCall, functionResponse } = part;
    const carried = thoughtSignature === undefined ? undefined : carriedIn(thoughtSignature);
    const provider = carried &&
      Object.keys(carried.provider).length > 0 && { provider: carried.provider };
    thoughts.push(...(carried?.thoughts ?? []));
    if (functionCall) {
      const { id = `call_${calls++}`, name, args = {} } = functionCall;
      open.push({ id, name });
      return { kind: 'function-call', id, name, args, ...provider };
    }
    if (functionResponse) {
      const { id, name } = functionResponse;
      const call = open.find((each) => each.id === id) ?? open.find((each) => each.name === name);
      if (!call)
        throw invalidField(
          `${at}.functionResponse`,
          `there is no preceding call of ${name} without a response`,
        );
      open = open.filter((each) => each !== call);
      const files = (functionResponse.parts ?? []).flatMap((each) => fileOf(each) ?? []);
      return {
        kind: 'function-response',
        ...call,
        ...responseOf(functionResponse.response ?? {}),
        ...(files.length > 0 && { parts: files }),
      };
    }
    if (text !== undefined)
      return { kind: thought === true ? 'thought' : 'text', text, ...provider };
    const file = fileOf(part);
    if (file) return { ...file, ...provider };
    const kind = Object.keys(part).find((key) => !key.startsWith('thought'));
    if (kind === undefined) return provider ? { kind: 'text', text: '', ...provider } : undefined;
    throw invalidField(`${at}.${kind}`, 'only models of Google support it');
  }

  function close(at: string): void {
    const [missing] = open;
    open = [];
    if (missing === undefined || !strict) return;
    throw invalidField(at, `the call of the function ${missing.name} has no functionResponse`);
  }
}

/** Adds a part. Joins the pieces of a thought, because the signature in the last piece belongs to the whole thought. */
function add(parts: ContentPart[], part: ContentPart): void {
  const last = parts.at(-1);
  const isPiece =
    part.kind === 'thought' && last?.kind === 'thought' && last.provider === undefined;
  if (isPiece) parts[parts.length - 1] = { ...part, text: last.text + part.text };
  else parts.push(part);
}

/**
 * Returns the result of a function. By convention, it is in `output` or `result`, or in `error` if the function failed.
 * If the object does not consist of exactly one of these fields, the whole object is the result.
 */
function responseOf(response: JsonObject): { response: JsonValue; isError?: true } {
  const [first, ...others] = Object.entries(response);
  if (first !== undefined && others.length === 0) {
    const [field, value] = first;
    if (field === 'output' || field === 'result') return { response: value };
    if (field === 'error') return { response: value, isError: true };
  }
  return { response };
}

function fileOf({ inlineData, fileData }: GoogleFile): BlobPart | FileContentPart | undefined {
  if (inlineData) {
    const { mimeType: mediaType, data, displayName: name } = inlineData;
    return { kind: 'blob', mediaType, data, ...setFields({ name }) };
  }
  if (!fileData) return undefined;
  const { fileUri: uri, mimeType: mediaType } = fileData;
  return { kind: 'file', uri, ...setFields({ mediaType }) };
}

function isSet(value: number | undefined, defaults: readonly number[]): value is number {
  return value !== undefined && !defaults.includes(value);
}
