/** Serves the web page. The source of the page is in page/, and scripts/page.ts builds it. */
export {
  consoleHandler,
  consoleRoutes,
  pageReply,
  wantsPage,
  type ConsoleOptions,
} from './console.ts';
