/** Servers the setup wizard knows by name. An entry is only a starting point for `[[providers]]`. */
export const VENDORS = [
  {
    name: "deepseek",
    label: "DeepSeek",
    baseUrl: "https://api.deepseek.com",
    model: "deepseek-v4-flash",
    keyName: "DEEPSEEK_API_KEY",
  },
  {
    name: "openai",
    label: "OpenAI",
    baseUrl: "https://api.openai.com/v1",
    model: "gpt-5",
    keyName: "OPENAI_API_KEY",
  },
  {
    name: "openrouter",
    label: "OpenRouter",
    baseUrl: "https://openrouter.ai/api/v1",
    model: "deepseek/deepseek-chat",
    keyName: "OPENROUTER_API_KEY",
  },
  {
    name: "ollama",
    label: "Ollama on this machine",
    baseUrl: "http://127.0.0.1:11434/v1",
    model: "qwen3",
    keyName: "",
  },
  {
    name: "llamacpp",
    label: "llama.cpp on this machine",
    baseUrl: "http://127.0.0.1:8080/v1",
    model: "local",
    keyName: "",
  },
] as const;
