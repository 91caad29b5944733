/*
 * Loaded before a program of this repository, so that it starts sooner: what one TypeScript file of it imports of another is
 * where it is said to be, and an ES module. By itself Node asks the disk about each of some 800 files: whether it is a link,
 * and which package.json above it says what it is.
 */
import { registerHooks } from 'node:module';

registerHooks({
  resolve(specifier, context, next) {
    const isOurs = specifier.startsWith('.') && specifier.endsWith('.ts') && context.parentURL?.endsWith('.ts');
    if (!isOurs) return next(specifier, context);
    return { url: new URL(specifier, context.parentURL).href, format: 'module-typescript', shortCircuit: true };
  },
});
