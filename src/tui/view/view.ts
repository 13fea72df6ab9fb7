/** Parameters that all drawing functions need. */
import type { Company } from '../../display/index.ts';

export interface View extends Company {
  readonly width: number;
  /** The height of the terminal. Undefined if lines are printed without a screen. */
  readonly height?: number;
  readonly renderers: typeof import('./renderers.ts');
  /** Whether to use words instead of symbols, for screen readers. */
  readonly plain: boolean;
  /** The symbol that running calls show in this frame. */
  readonly spinner: string;
}
