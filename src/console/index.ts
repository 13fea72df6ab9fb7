/** The web page, and its server. The page itself is in page/, which only the build reads. */
export {
  consoleHandler,
  consoleRoutes,
  pageReply,
  wantsPage,
  type ConsoleOptions,
} from './console.ts';
