export { THEME_NAMES } from './theme.ts';
