export function currentBundle(): string | undefined;
export function bundledWorker(file: string): string;
