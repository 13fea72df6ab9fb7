/** Parameters that all drawing functions need. */
import type { Company } from './who.ts';

export interface View extends Company {
  readonly width: number;
  readonly renderers: typeof import('./renderers.ts');
  /** For screen readers: words instead of symbols. */
  readonly plain: boolean;
  /** The current spinner symbol of running calls. */
  readonly spinner: string;
}
