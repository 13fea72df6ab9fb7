/**
 * Relays a request to Google, or to another provider with Google's API. The provider gets the client's own request with
 * few changes. In the answer, only the name of the model and errors are changed.
 */
import { defined, isObject } from '../../../base/index.ts';
import type { FinishReason, Usage } from '../../../agent/index.ts';
import type { Relay } from '../relay/relay.ts';
import { countIn, fieldIn } from '../vendor-api/answer.ts';
import type { CountExchange } from '../vendor-api/vendor-api.ts';
import type { CountBody, GenerateBody, InputContent, GooglePart } from './schema.ts';
import { isOwnSignature } from './signature.ts';

/** The type of the providers with Google's API. */
const GOOGLE = 'google';

const REASONS: Readonly<Record<string, FinishReason>> = {
  STOP: 'stop',
  MAX_TOKENS: 'length',
  SAFETY: 'content-filter',
  RECITATION: 'content-filter',
  BLOCKLIST: 'content-filter',
  PROHIBITED_CONTENT: 'content-filter',
  SPII: 'content-filter',
};
/**
 * Placeholder for the signature of a call that another vendor's model made. Google accepts it instead of a signature.
 */
const FOREIGN_CALL = 'skip_thought_signature_validator';

export interface Asked {
  /** The caller's name for the model. */
  readonly model: string;
  readonly body: GenerateBody;
  readonly stream: boolean;
}

/** Returns the relay of a request to generate an answer. */
export function generateRelay({ model: name, body, stream }: Asked): Relay {
  const replacement = `"modelVersion":${JSON.stringify(name)}`;
  return {
    accepts: (type) => type === GOOGLE,
    stream,
    path: (model) =>
      pathOf(model) + (stream ? ':streamGenerateContent?alt=sse' : ':generateContent'),
    body: (_model, maxOutputTokens) => ({
      ...body,
      contents: body.contents.flatMap(withoutForeign),
      ...(maxOutputTokens !== undefined && {
        generationConfig: { ...body.generationConfig, maxOutputTokens },
      }),
      // `model` is removed, because the name of the model is in the path.
      model: undefined,
      // `serviceTier` is removed, because a tier may cost more than the price that the gateway counts.
      serviceTier: undefined,
    }),
    // Inside a JSON string, the quotation marks would be escaped. So the pattern does not match the text of the answer,
    // but only members of JSON objects.
    rewrite: (text) => text.replaceAll(/"modelVersion":\s*"[^"\\]*"/g, () => replacement),
    watched: /"(?:finishReason|usageMetadata|blockReason)":|"error":\s*\{/,
    read(event) {
      const { error, candidates, promptFeedback, usageMetadata } = event;
      if (isObject(error)) return { failed: true };
      const reason = fieldIn(Array.isArray(candidates) ? candidates[0] : undefined, 'finishReason');
      const isBlocked = fieldIn(promptFeedback, 'blockReason') !== undefined;
      if (!stream) event['modelVersion'] = name;
      return {
        usage: usageIn(usageMetadata),
        ...(typeof reason === 'string' && { end: REASONS[reason] ?? 'other' }),
        ...(isBlocked && { end: 'content-filter' }),
        changed: !stream,
      };
    },
  };
}

/** Returns the relay of a request to count tokens. Google does not charge for it. */
export function countRelay(body: CountBody): CountExchange['relay'] {
  return {
    accepts: (type) => type === GOOGLE,
    path: (model) => `${pathOf(model)}:countTokens`,
    body(model) {
      const { generateContentRequest: whole } = body;
      if (whole === undefined)
        return { ...body, contents: body.contents.flatMap(withoutForeign), model: undefined };
      const contents = whole.contents.flatMap(withoutForeign);
      return { generateContentRequest: { ...whole, model: pathOf(model).slice(1), contents } };
    },
    countField: 'totalTokens',
  };
}

/** Returns the path of a model. The name needs no encoding (`calledName`). */
function pathOf(model: string): string {
  return model.includes('/') ? `/${model}` : `/models/${model}`;
}

/**
 * Removes the signatures that the gateway created for other vendors' models, because Google refuses them. Also removes
 * the thoughts with such a signature. A function call gets a placeholder instead of its removed signature. Returns an
 * empty list if no part remains.
 */
function withoutForeign(content: InputContent): InputContent[] {
  const { parts = [] } = content;
  if (!parts.some(isForeign)) return [content];
  const own = parts.flatMap((part) => {
    if (!isForeign(part)) return [part];
    const { thoughtSignature: _, ...rest } = part;
    if (part.thought === true) return [];
    return [part.functionCall ? { ...rest, thoughtSignature: FOREIGN_CALL } : rest];
  });
  return own.length === 0 ? [] : [{ ...content, parts: own }];
}

function isForeign({ thoughtSignature }: GooglePart): boolean {
  return thoughtSignature !== undefined && isOwnSignature(thoughtSignature);
}

function usageIn(usage: unknown): Usage | undefined {
  const inputTokens = countIn(usage, 'promptTokenCount');
  if (inputTokens === undefined) return undefined;
  const cachedTokens = countIn(usage, 'cachedContentTokenCount');
  const thoughtTokens = countIn(usage, 'thoughtsTokenCount');
  return {
    inputTokens: inputTokens + (countIn(usage, 'toolUsePromptTokenCount') ?? 0),
    outputTokens: (countIn(usage, 'candidatesTokenCount') ?? 0) + (thoughtTokens ?? 0),
    ...defined({ cachedTokens, thoughtTokens }),
  };
}
