/** Parameters that all drawing functions need. */
import type { Company } from '../../display/index.ts';

/** Minimum width for layout, even if the terminal is narrower. */
export const MIN_WIDTH = 20;

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
