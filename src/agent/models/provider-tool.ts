import type { JsonObject } from '../../base/index.ts';

/** A tool that the vendor runs itself, such as `google.google_search`. */
export interface ProviderTool {
  readonly id: `${string}.${string}`;
  readonly name: string;
  readonly args: JsonObject;
}
