/** Returns a handler for `catch` that turns system errors with these codes into undefined and rethrows all others. */
export function ignore(...codes: string[]): (error: NodeJS.ErrnoException) => undefined {
  return (error) => {
    if (!codes.includes(error.code ?? '')) throw error;
  };
}
