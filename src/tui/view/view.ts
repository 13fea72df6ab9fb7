/** What everything that draws has to know. */
import type { Company } from './who.ts';

export interface View extends Company {
  readonly width: number;
  readonly renderers: typeof import('./renderers.ts');
  /** Line by line, for a screen reader: words instead of signs. */
  readonly plain: boolean;
  /** What a running call's sign is at the moment. */
  readonly spinner: string;
}
