/**
 * The capabilities and limits of a model, as its model card or the configuration states them. admission.ts enforces
 * them.
 */
import type { CardContent } from '../cards/schema.ts';

/**
 * The kinds of files that a model may accept. The content of a text file has no kind: it is sent as text, which every
 * model accepts. A text file that is sent as a URL has the kind `file`.
 */
export type FileKind = 'image' | 'audio' | 'video' | 'pdf' | 'file';
type Feature = FileKind | 'streaming' | 'tools';

export interface ModelLimits {
  /** The features that the model does not support. */
  readonly without: ReadonlySet<Feature>;
  /** Maximum number of tokens of a prompt. Undefined: no limit. */
  readonly contextWindow?: number | undefined;
  /** Maximum number of tokens of an answer. Undefined: no limit. */
  readonly maxOutputTokens?: number | undefined;
}

export const NO_LIMITS: ModelLimits = { without: new Set() };

/**
 * Maps the types of capabilities to features. The types are in lower case, with underscores instead of hyphens. If a
 * model lists a capability with `enabled: false`, the model does not support the feature. The types `chat` and
 * `embeddings` have an effect too (catalogue.ts). All other types only describe the model.
 */
const FEATURES: ReadonlyMap<string, Feature> = new Map([
  ['streaming', 'streaming'],
  ['tools', 'tools'],
  ['tool_use', 'tools'],
  ['function_calling', 'tools'],
  ['vision', 'image'],
  ['images', 'image'],
  ['audio', 'audio'],
  ['video', 'video'],
  ['pdf', 'pdf'],
  ['documents', 'pdf'],
]);

export const FILE_KINDS = ['image', 'audio', 'video', 'pdf', 'file'] as const satisfies FileKind[];

/** Returns the limits of a model card, or of a model in the configuration. */
export function limitsOf(
  entry: Pick<CardContent, 'capabilities' | 'inputs' | 'contextWindow' | 'maxOutputTokens'>,
): ModelLimits {
  const { capabilities, inputs, contextWindow, maxOutputTokens } = entry;
  if (capabilities.length === 0 && !inputs && !contextWindow && !maxOutputTokens) return NO_LIMITS;
  const without = new Set<Feature>();
  for (const { type, enabled } of capabilities) {
    const feature = FEATURES.get(type.toLowerCase().replaceAll('-', '_'));
    if (feature !== undefined && !enabled) without.add(feature);
  }
  for (const kind of inputs ? FILE_KINDS : []) if (!inputs?.includes(kind)) without.add(kind);
  return { without, contextWindow, maxOutputTokens };
}

/** Returns whether files of this media type are sent as text. */
export function isTextFile(mediaType: string): boolean {
  return /^\s*(text\/|application\/json\b)/i.test(mediaType);
}

/**
 * Returns whether the model supports streaming. If not, a client that requests a stream gets each text in one chunk.
 */
export function streams({ limits }: { readonly limits: ModelLimits }): boolean {
  return !limits.without.has('streaming');
}
